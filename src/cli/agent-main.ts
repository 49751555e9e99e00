// Entry point of an agent process.
import { useCompileCache } from '#lib/compile-cache.ts'

useCompileCache()
const { main } = await import('#programs/agent-program.ts')
process.exit(await main(process.argv.slice(2)))
