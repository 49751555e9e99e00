// The server process of the reflector benchmark: a fake full of nodes over HTTPS, which changes them and drops connections when told to.
import { FakeKube } from '#test/doubles/kube/fake-kube.ts'
import { systemClock } from '#lib/system-clock.ts'
import { seededRandom } from '#lib/random.ts'
import { benchNode, NODES, nodeName } from './kube-bench-nodes.ts'
import { serveFake } from '#test/support/servers/kube-server.ts'

export interface ChurnOrder {
  readonly kind: 'churn'
  readonly writes: number
  readonly reconnects: number
  /** The last drop also forgets the history, so that everything is listed again. */
  readonly compact: boolean
}

const [count = '1000', bytes = '3000'] = process.argv.slice(2)
const fake = new FakeKube({ clock: systemClock, random: seededRandom(1), bookmarkEveryMs: 1_000 })
for (let i = 0; i < Number(count); i++) fake.plant(NODES, benchNode(i, Number(bytes)))
const server = await serveFake(fake)

/** Time between two writes of a burst: faster than any cluster of this size heartbeats. */
const EVERY_MS = 2

async function churn({ writes, reconnects, compact }: ChurnOrder): Promise<void> {
  const random = seededRandom(2)
  const dropEvery = Math.max(1, Math.floor(writes / (reconnects + 1)))
  let dropped = 0
  for (let i = 1; i <= writes; i++) {
    const name = nodeName(random.below(Number(count)))
    if (fake.peek(NODES, { name }) === undefined)
      fake.plant(NODES, { ...benchNode(0, Number(bytes)), metadata: { name } })
    else if (random.below(50) === 0) fake.uproot(NODES, { name })
    else fake.poke(NODES, { name }, { metadata: { annotations: { 'bench/at': String(Date.now()) } } })
    if (i % dropEvery === 0 && dropped < reconnects) {
      dropped++
      if (compact && dropped === reconnects) {
        fake.compact()
        fake.plant(NODES, { ...benchNode(0, Number(bytes)), metadata: { name: 'after-compaction' } })
        fake.compact()
      }
      server.dropConnections()
    }
    await new Promise((resolve) => setTimeout(resolve, EVERY_MS))
  }
}

const state = () => fake.all(NODES).map((o) => `${o.metadata.name}@${o.metadata.resourceVersion}`)

process.on('message', (order: ChurnOrder | { readonly kind: 'stop' }) => {
  if (order.kind === 'stop') process.exit(0)
  void churn(order).then(() =>
    process.send?.({ kind: 'churned', revision: fake.revision, state: state(), lists: lists() }),
  )
})
/** First pages alone, and whole lists. */
const lists = (): number =>
  server.requests.filter((r) => /^\/api\/v1\/nodes(\?|$)/.test(r.path) && !/watch=|continue=/.test(r.path)).length

process.send?.({ kind: 'ready', config: await server.config() })
