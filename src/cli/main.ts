// Where the process of every `kubenode …` begins: the only place that reads argv and the environment.
import { useCompileCache } from './compile-cache.ts'

useCompileCache()
const [{ processIo }, { run }] = await Promise.all([import('./io.ts'), import('./program.ts')])

// The reader of a pipe may leave early (`kubenode … | head`); that is no error.
process.stdout.on('error', (e: NodeJS.ErrnoException) => process.exit(e.code === 'EPIPE' ? 0 : 1))

// A program of the local fleet ends when the one that started it is gone, also after a kill -9.
if (process.env['KUBENODE_UNTIL_STDIN_ENDS'] !== undefined) {
  process.stdin.on('end', () => process.kill(process.pid, 'SIGTERM')).resume()
  process.stdin.on('error', () => process.kill(process.pid, 'SIGTERM'))
}

process.exitCode = await run(process.argv.slice(2), processIo())
// Listening for that end must not keep alive who has nothing left to do.
process.stdin.destroy()
