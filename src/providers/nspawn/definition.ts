// Options of this host's systemd machines in a providers file, and how the agent gets into them.
import { join, relative } from 'node:path'
import { choice, fallback, obj, optional } from '#api/build.ts'
import { defined } from '#lib/defined.ts'
import { releaseRoot } from '#lib/release-root.ts'
import { path, type DefinitionFor } from '../definition.ts'
import { AGENT_DIR, TREES } from './layout.ts'

const optionsSchema = obj('Options of the provider nspawn.', {
  dir: path('Folder of the machines, one folder each; not on an overlay file system.'),
  trees: fallback(path('Folder for the Debian trees that machines share, built when there is none.'), TREES),
  network: fallback(
    choice(
      'Host: machines share the network of this host. Own: each has a network of its own, with itself and an API server on the loopback of this host.',
      ['Host', 'Own'],
    ),
    'Host',
  ),
  share: optional(
    path('A folder of this host that machines see under the same path, such as that of their artifacts.'),
  ),
})

/** Where machines mount this host's Node program and checkout. */
const INSIDE = '/opt/kubenode'

export const nspawnDefinition: DefinitionFor<typeof optionsSchema> = {
  name: 'nspawn',
  doc: 'Real systemd machines in containers of this host; needs root. Each takes some seven inotify instances of root, of which fs.inotify.max_user_instances allows 128 by default.',
  optionsSchema,
  paths: ['dir', 'trees', 'share'],
  orphans: 'Delete',
  writesForOthers: true,
  async create({ dir, trees, network, share }, { clock, log, node, entries, agentConfig }) {
    const [{ createNspawnProvider }, { ensureTree }] = await Promise.all([import('./provider.ts'), import('./tree.ts')])
    const agent = agentInside(entries.agent)
    return createNspawnProvider({
      dir,
      tree: await ensureTree({ cache: trees, log }),
      clock,
      log,
      network,
      ...defined({ share }),
      agent: {
        exec: [join(INSIDE, 'node'), agent.file, '--root', AGENT_DIR, '--host'],
        readOnly: [{ from: node, to: join(INSIDE, 'node') }, agent.folder],
      },
      ...defined({ agentConfig }),
    })
  },
}

/** A program, as source or built, lives inside its release and needs the files around it. */
function agentInside(file: string): {
  readonly file: string
  readonly folder: { readonly from: string; readonly to: string }
} {
  const from = releaseRoot()
  const to = join(INSIDE, 'release')
  return { file: join(to, relative(from, file)), folder: { from, to } }
}
