// Ends a process group with everything in it, also what its first process left behind.

/** A group that has ended is no error. */
export function killGroup(pid: number | undefined): void {
  if (pid === undefined) return
  try {
    process.kill(-pid, 'SIGKILL')
  } catch {
    // Nothing is in it any more.
  }
}
