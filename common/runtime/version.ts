/** The same as in package.json; a test compares them, since the image has no package.json. */
export const VERSION = "0.1.0";
