// Everything in one process with one browser; the demo runs meanwhile, and is looked at last.
import "./page_test.mjs";
import "./large_test.mjs";
import "./demo_test.mjs";
