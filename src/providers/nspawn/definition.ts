// What a providers file may say of systemd machines of this host, and how the agent comes into them.
import { join } from 'node:path'
import { fallback, obj } from '#api/build.ts'
import { path, type DefinitionFor } from '../definition.ts'

const optionsSchema = obj('Options of the provider nspawn.', {
  dir: path('Folder of the machines, one folder each; not on an overlay file system.'),
  trees: fallback(
    path('Folder for the Debian trees that machines share, built when there is none.'),
    '/var/lib/kubenode/trees',
  ),
})

/** Where machines see the program and the checkout of this host. */
const INSIDE = '/opt/kubenode'
const AGENT_DIR = '/var/lib/kubenode'

export const nspawnDefinition: DefinitionFor<typeof optionsSchema> = {
  name: 'nspawn',
  doc: 'Real systemd machines in containers of this host; needs root.',
  optionsSchema,
  paths: ['dir', 'trees'],
  writesForOthers: true,
  async create({ dir, trees }, { clock, log, node, entries, agentConfig }) {
    const [{ createNspawnProvider }, { ensureTree }] = await Promise.all([import('./provider.ts'), import('./tree.ts')])
    const checkout = entries.agent.slice(0, entries.agent.lastIndexOf('/src/'))
    const inside = join(INSIDE, 'checkout')
    return createNspawnProvider({
      dir,
      tree: await ensureTree({ cache: trees, log }),
      clock,
      log,
      agent: {
        exec: [join(INSIDE, 'node'), join(inside, entries.agent.slice(checkout.length)), '--root', AGENT_DIR, '--host'],
        readOnly: [
          { from: node, to: join(INSIDE, 'node') },
          { from: checkout, to: inside },
        ],
      },
      ...(agentConfig !== undefined && { agentConfig }),
    })
  },
}
