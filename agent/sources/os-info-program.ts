// Run by os-info.ts in a process of its own: prints name and version of the distribution as JSON.
import { osInfo } from "systeminformation";

const { distro, release } = await osInfo();
process.stdout.write(JSON.stringify({ distro, release }));
