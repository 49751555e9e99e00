// A cluster that a commit takes out, and another one declares again while its machines leave: it ends, another one is made under its name, and nothing of the first is left.
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { machine } from '#api/kinds/machine.ts'
import { processesWith, until } from '#test/support/tools/processes.ts'
import { PATIENCE_MS, TestFleet } from './fleet.ts'
import { observe } from './watching.ts'

const NODES = 6
const MORE = 7
let fleet: TestFleet

beforeAll(async () => {
  fleet = new TestFleet()
  fleet.start('--nodes', String(NODES))
  await fleet.settled()
}, 2 * PATIENCE_MS)
afterAll(async () => {
  await (fleet as TestFleet | undefined)?.dispose()
}, PATIENCE_MS)

const CLUSTERS = 'fleet/clusters/clusters.json'

function declareProd(entry: object | undefined): void {
  const file = join(fleet.repository, CLUSTERS)
  const { prod: _, ...others } = JSON.parse(readFileSync(file, 'utf8')) as Record<string, object>
  writeFileSync(file, JSON.stringify(entry === undefined ? others : { ...others, prod: entry }))
  fleet.commit(entry === undefined ? 'prod leaves the fleet' : 'prod is part of the fleet')
}

/** Names of machines of prod whose agents run on this machine. */
const hosts = (): ReadonlySet<string> =>
  new Set(
    processesWith(join(fleet.data, 'prod', 'nodes')).flatMap(
      ({ command }) => command.split('/prod/nodes/')[1]?.split(/[/ ]/)[0] ?? [],
    ),
  )

/** Every machine that prod was seen to have until it no longer answered. */
function everSeen(): {
  readonly names: ReadonlySet<string>
  readonly isLeaving: () => boolean
  readonly stop: () => Promise<void>
} {
  const observer = observe(fleet.kubeconfig('prod'))
  const names = new Set<string>()
  const look = setInterval(() => observer.machines().forEach((m) => names.add(m.metadata.name ?? '')), 100)
  return {
    names,
    isLeaving: () => observer.machines().some((m) => m.metadata.deletionTimestamp !== undefined),
    stop: () => {
      clearInterval(look)
      return observer.stop()
    },
  }
}

test(
  'a cluster of six machines that is declared again with seven while they leave makes none before it is made again',
  async () => {
    const hub = fleet.kubeconfig('hub')
    const before = everSeen()
    await until('all machines of prod', () => before.names.size === NODES || undefined, PATIENCE_MS)
    const first = new Set(before.names)
    expect(hosts()).toEqual(first)

    declareProd(undefined)
    const release = 'release/fleet-$(git -C .kubenode/repository rev-parse HEAD | cut -c -12)'
    const asks = `--for jsonpath='{.status.waitingFor.predicate}'=GateClosed --timeout 5m`
    const wait = `until kubectl --kubeconfig ${hub} -n kubenode-system wait ${release} ${asks}; do sleep 1; done`
    expect(await fleet.run(wait)).toMatchObject({ code: 0 })
    const approve = `bin/kubenode approve ${release} --reason 'prod leaves' --kubeconfig ${hub}`
    expect(await fleet.run(approve)).toMatchObject({ code: 0 })
    await until('the first machine leaves', () => before.isLeaving() || undefined, PATIENCE_MS)
    declareProd({ stage: 'prod', nodes: MORE })
    await until(
      'the first prod is gone',
      () => [...hosts()].every((name) => !first.has(name)) || undefined,
      2 * PATIENCE_MS,
    )
    // Nothing was made in the cluster that was ending.
    expect(before.names).toEqual(first)
    await before.stop()

    await fleet.settled()
    const after = observe(fleet.kubeconfig('prod'))
    const { items } = await after.client.list(machine)
    await after.stop()
    const names = new Set(items.map((m) => m.metadata.name ?? ''))
    expect(names.size).toBe(MORE)
    expect([...names].filter((name) => first.has(name))).toEqual([])
    expect(hosts()).toEqual(names)
  },
  5 * PATIENCE_MS,
)
