import { FAILURES } from "./scenarios/failures.ts";
import { describeScenarios } from "./scenarios/suite.ts";

describeScenarios("failures", FAILURES);
