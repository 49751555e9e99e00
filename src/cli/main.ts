// Where the process of every `kubenode …` begins: the only place that reads argv and the environment.
import { useCompileCache } from './compile-cache.ts'
import { surviveLostOutput } from './lost-output.ts'

useCompileCache()
const [{ processIo }, { run }] = await Promise.all([import('./io.ts'), import('./program.ts')])

surviveLostOutput(process)

// A program of the local fleet ends when the one that started it is gone, also after a kill -9.
if (process.env['KUBENODE_UNTIL_STDIN_ENDS'] !== undefined) {
  process.stdin.on('end', () => process.kill(process.pid, 'SIGTERM')).resume()
  process.stdin.on('error', () => process.kill(process.pid, 'SIGTERM'))
}

// Timers keep nothing awake by themselves: whoever waits while no connection is open would end in the middle of it.
const awake = setInterval(() => undefined, 2 ** 30)
process.exitCode = await run(process.argv.slice(2), processIo())
clearInterval(awake)
// Listening for that end must not keep alive who has nothing left to do.
process.stdin.destroy()
