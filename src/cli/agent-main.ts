// Entry point of an agent's process.
import { useCompileCache } from './compile-cache.ts'

useCompileCache()
const { main } = await import('./agent-program.ts')
process.exit(await main(process.argv.slice(2)))
