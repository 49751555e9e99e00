// Ends a process of tests when the runner that started it ended: otherwise it runs to the end and nothing reads its results; so do the servers that it started.
const endWithRunner = (): void => void process.kill(process.pid, 'SIGKILL')

// Files of one process each load this.
if (process.connected && !process.listeners('disconnect').some((l) => l.name === endWithRunner.name))
  process.once('disconnect', endWithRunner)
