// A library of the driver's name without any of its symbols.
int lockstep_hollow(void);
int lockstep_hollow(void) { return 0; }
