// Where the process of every `kubenode …` begins: the only place that reads argv and the environment.
import { processIo } from './io.ts'
import { run } from './program.ts'

// The reader of a pipe may leave early (`kubenode … | head`); that is no error.
process.stdout.on('error', (e: NodeJS.ErrnoException) => process.exit(e.code === 'EPIPE' ? 0 : 1))

process.exitCode = await run(process.argv.slice(2), processIo())
