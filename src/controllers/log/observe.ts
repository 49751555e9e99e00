// Reads the LogRequests and the machines they concern.
import { logRequest } from '#api/kinds/log-request.ts'
import { machine } from '#api/kinds/machine.ts'
import { nameOf } from '#api/schema/object-meta.ts'
import { type Informers, requireFresh } from '#runtime/informers.ts'
import { type Seen } from './seen.ts'

const CARRIES = 'carries-log-requests'

export const cachesOf = (informers: Informers) => ({
  requests: informers.of(logRequest),
  machines: informers.of(machine, {
    indexes: { [CARRIES]: ({ spec }) => ((spec.logs ?? []).length > 0 ? ['yes'] : []) },
  }),
})

type Caches = ReturnType<typeof cachesOf>

export async function observe({ requests, machines }: Caches): Promise<Seen> {
  requireFresh([requests, machines])
  const all = requests.list()
  const carrying = machines.byIndex(CARRIES, 'yes')
  const names = new Set([...all.map((r) => r.spec.machine), ...carrying.map(nameOf)])
  return { requests: all, machines: [...names].flatMap((name) => machines.get(name) ?? []) }
}
