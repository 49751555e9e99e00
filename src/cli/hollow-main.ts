// Entry point of a hollow fleet process.
import { useCompileCache } from '#lib/compile-cache.ts'

useCompileCache()
const { main } = await import('#programs/hollow-program.ts')
process.exit(await main(process.argv.slice(2)))
