// Entry point of every `kubenode …` process: the only place that reads argv and the environment.
import { useCompileCache } from '#lib/compile-cache.ts'
import { surviveLostOutput } from './lost-output.ts'

useCompileCache()
const argv = process.argv.slice(2)
const [{ processIo }, { EXIT_INTERRUPTED }, { run }] = await Promise.all([
  import('./process-io.ts'),
  import('#lib/terminal/exit.ts'),
  import('./program.ts'),
])

const readerLeft = surviveLostOutput(process)

// A local fleet's program exits when its parent does, even after a kill -9.
if (process.env['KUBENODE_UNTIL_STDIN_ENDS'] !== undefined) {
  process.stdin.on('end', () => process.kill(process.pid, 'SIGTERM')).resume()
  process.stdin.on('error', () => process.kill(process.pid, 'SIGTERM'))
}

// Ctrl-C ends a command at once, on its own line. Programs that drain handle the signal themselves, and so do prompts.
process.on('SIGINT', () => {
  if (process.listenerCount('SIGINT') > 1) return
  if (process.stderr.isTTY) process.stderr.write('\r\u001b[K\n')
  process.exit(EXIT_INTERRUPTED)
})

// Timers are unreferenced: without this, a program that waits without an open connection would exit.
const awake = setInterval(() => undefined, 2 ** 30)
const io = processIo(readerLeft)
process.exitCode = await run(argv, io)
// Do not keep the prompt waiting for a server that missed the deadline.
if (argv[0] === '__complete') process.exit()
clearInterval(awake)
// This listener alone must not keep an idle process alive.
process.stdin.destroy()
