import { UNWATCHED } from "./scenarios/failures.ts";
import { describeScenarios } from "./scenarios/suite.ts";

describeScenarios("unwatched", UNWATCHED);
