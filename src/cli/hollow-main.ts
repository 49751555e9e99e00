// Entry point of a hollow fleet's process.
import { useCompileCache } from './compile-cache.ts'

useCompileCache()
const { main } = await import('./hollow-program.ts')
process.exit(await main(process.argv.slice(2)))
