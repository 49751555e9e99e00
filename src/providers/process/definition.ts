// Options of nodes that are processes of this host, in a providers file.
import { obj } from '#api/build.ts'
import { path, type DefinitionFor } from '../definition.ts'
import { defined } from '#lib/defined.ts'

const optionsSchema = obj('Options of the provider process.', { dir: path('Folder of the nodes, one folder each.') })

/** An agent should stay below 80 MiB. Its live objects take a few megabytes, so keep little garbage and collect it with one thread. */
const AGENT_MEMORY = ['--max-old-space-size=96', '--max-semi-space-size=1', '--single-threaded-gc'] as const

export const processDefinition: DefinitionFor<typeof optionsSchema> = {
  name: 'process',
  doc: 'Nodes that are a folder and processes of this host, for trying KubeNode out.',
  optionsSchema,
  paths: ['dir'],
  orphans: 'Delete',
  async create({ dir }, { clock, log, node, entries, agentConfig, compileCache }) {
    const { createProcessProvider } = await import('./provider.ts')
    return createProcessProvider({
      dir,
      agent: (at) => [node, ...AGENT_MEMORY, entries.agent, '--root', at.dir],
      clock,
      log,
      ...defined({ compileCache, agentConfig }),
    })
  },
}
