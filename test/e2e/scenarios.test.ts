import { ORDINARY } from "./scenarios/ordinary.ts";
import { describeScenarios } from "./scenarios/suite.ts";

describeScenarios("scenarios", ORDINARY);
