// Where the process of a hollow fleet begins.
import { useCompileCache } from './compile-cache.ts'

useCompileCache()
const { main } = await import('./hollow-program.ts')
process.exit(await main(process.argv.slice(2)))
