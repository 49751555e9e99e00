// Options of hollow hosts, which are agents without a machine, in a providers file.
import { fallback, obj, optional, refine } from '#api/build.ts'
import { check } from '#api/extras.ts'
import { duration } from '#api/fields.ts'
import { durationMs } from '#lib/duration.ts'
import { path, type DefinitionFor } from '../definition.ts'

const aboveZero = check('a duration above zero', (value) =>
  typeof value === 'string' && durationMs(value) === 0 ? 'must be longer than zero' : undefined,
)

const optionsSchema = obj('Options of the provider hollow.', {
  dir: path('Folder of the hosts, one file each.'),
  kubeconfig: path('Kubeconfig of the agents; they write for all their nodes.'),
  authority: optional(
    path('Folder with ca.crt and ca.key of the cluster; each agent then writes with a certificate of its own.'),
  ),
  lease: fallback(refine(duration('How often an agent renews its Lease.'), {}, { checks: [aboveZero] }), '10s'),
})

export const hollowDefinition: DefinitionFor<typeof optionsSchema> = {
  name: 'hollow',
  doc: 'Hosts that are an agent without a machine, thousands in one process, for tests of scale.',
  optionsSchema,
  paths: ['dir', 'kubeconfig', 'authority'],
  orphans: 'Delete',
  async create({ dir, kubeconfig, lease, authority }, { clock, log, node, entries }) {
    const { createHollowProvider } = await import('./provider.ts')
    return createHollowProvider({
      dir,
      agents: (hosts) => [
        node,
        entries.hollow,
        '--hosts',
        hosts,
        '--kubeconfig',
        kubeconfig,
        '--lease',
        lease,
        ...(authority === undefined ? [] : ['--authority', authority]),
      ],
      clock,
      log,
    })
  },
}
