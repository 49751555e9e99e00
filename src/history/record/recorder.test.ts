// Tests that a recorder records every change in order, and that everything it missed becomes a gap: after a kill at any moment, a lost connection, a full disk, a
// damaged file, a clock that jumps, or next to a second recorder.
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { machine } from '#api/kinds/machine.ts'
import { atOnce } from '#lib/steps.ts'
import { timestamp } from '#lib/clock.ts'
import { loggerTo } from '#lib/log.ts'
import { nodeType } from '#nodes/objects.ts'
import { CLUSTER, historyWorld as world } from '#test/support/worlds/history-world.ts'
import { clusterLifeOf } from '../ask/cluster-life.ts'
import { chainProblem } from '../deeds/chain.ts'
import { historyFile } from '../store/file.ts'

test('transitions are recorded with both times; heartbeats are not', async () => {
  const w = world()
  w.plantNode('n-1')
  const part = await w.recorder()
  await w.clock.advance(60_000)
  w.setReady('n-1', 'False')
  const at = w.clock.now()
  await w.clock.advance(1_000)
  w.kube.poke(nodeType, { name: 'n-1' }, { metadata: { resourceVersion: undefined } })
  await part.stop()
  expect(w.readyOf('n-1')).toEqual(['True', 'False'])
  const [, last] = w.read((r) =>
    r
      .subjects('Node', 'n-1')
      .flatMap((s) => r.rowsOf(s))
      .filter((t) => t.topic === 'status/conditions/Ready'),
  )
  expect(last?.observed).toBeGreaterThanOrEqual(at)
  expect(last?.observed).toBeLessThan(at + 1_000)
  expect(last?.reported).toBe(Math.floor(at / 1_000) * 1_000)
  expect(w.read((r) => r.gaps())).toEqual([])
})

test('a recorder that was killed leaves an open gap before the next one starts, and a running one leaves none', async () => {
  const w = world()
  w.plantNode('n-1')
  await w.recorder()
  await w.clock.advance(60_000)
  expect(w.read((r) => r.silentSince(w.clock.now()))).toBeUndefined()
  expect(w.read((r) => r.gapsUntil(w.clock.now()))).toEqual([])
  const killed = w.snapshot()
  const last = w.clock.now()
  await w.clock.advance(60_000)
  const [gap, ...others] = w.read((r) => r.gapsUntil(w.clock.now()), killed)
  expect(others).toEqual([])
  expect(gap).toMatchObject({ why: 'NotWritten', ends: undefined })
  expect(gap?.starts).toBeLessThanOrEqual(last)
  expect(gap?.starts).toBeGreaterThan(last - 6_000)
  // A question about the time before is not in doubt.
  expect(w.read((r) => r.gapsUntil(w.clock.now(), { from: 0, to: last - 10_000 }), killed)).toEqual([])
})

test('what was changed while no recorder ran is a deed after that time, by whom the managed fields show, or by an unknown one', async () => {
  const w = world()
  for (const name of ['n-1', 'n-2', 'n-3']) w.plantNode(name)
  await (await w.recorder()).stop()
  const away = w.clock.now()
  await w.clock.advance(60_000)
  const owned = { 'f:spec': { 'f:unschedulable': {} } }
  const entry = { manager: 'kubectl', operation: 'Update', time: timestamp(w.clock.now()), fieldsV1: owned } as const
  const cordoned = await w.kube.client({ actor: 'test' }).get(nodeType, { name: 'n-1' })
  if (cordoned === undefined) throw new Error('it was planted')
  const metadata = { ...cordoned.metadata, managedFields: [entry] }
  w.kube.restore(nodeType, { ...cordoned, metadata, spec: { unschedulable: true } })
  w.kube.poke(nodeType, { name: 'n-2' }, { metadata: { labels: { team: 'a' } } })
  w.kube.uproot(nodeType, { name: 'n-3' })
  await w.clock.advance(60_000)
  await (await w.recorder()).stop()
  const deeds = w.read((r) => [...r.deeds()])
  expect(deeds.map(({ who, did, object, what }) => [who, did, object, what])).toEqual([
    ['kubectl', 'changed', 'node/n-1', 'cordoned'],
    ['unknown', 'changed', 'node/n-2', 'label team=a'],
    ['unknown', 'deleted', 'node/n-3', undefined],
  ])
  for (const { notBefore = 0, observed } of deeds) {
    expect(notBefore).toBeLessThanOrEqual(away)
    expect(notBefore).toBeGreaterThan(away - 6_000)
    expect(observed).toBeGreaterThan(away + 100_000)
  }
  expect(chainProblem(deeds)).toBeUndefined()
})

test('a deleted node ends, and one of the same name is another', async () => {
  const w = world()
  w.plantNode('n-1')
  const part = await w.recorder()
  w.kube.uproot(nodeType, { name: 'n-1' })
  await w.clock.advance(1_000)
  w.plantNode('n-1', 'False')
  await w.clock.advance(1_000)
  await part.stop()
  expect(w.read((r) => r.subjects('Node', 'n-1').length)).toBe(2)
  expect(w.readyOf('n-1')).toEqual(['True', undefined, 'False'])
})

test('a machine is created once: neither what was there at the beginning nor a new start of the recorder is a deed', async () => {
  const w = world()
  const plant = (name: string): void => {
    w.kube.plant(machine, {
      ...machine.example,
      apiVersion: 'kubenode.io/v1alpha1',
      kind: 'Machine',
      metadata: { name },
    })
  }
  plant('m-0')
  const part = await w.recorder()
  w.plantNode('n-1')
  plant('m-1')
  await w.clock.advance(60_000)
  await part.stop()
  const before = w.read((r) => [...r.deeds()])
  expect(before).toMatchObject([{ did: 'created', object: 'machine/m-1' }])
  await (await w.recorder()).stop()
  expect(w.read((r) => [...r.deeds()])).toEqual(before)
})

const step = fc.record({
  node: fc.integer({ min: 1, max: 3 }),
  status: fc.constantFrom('True', 'False', 'Unknown'),
  ms: fc.integer({ min: 1, max: 3_000 }),
})

test('killed at any moment it has lost what was in its gap, and nothing else; the state after is the true one', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(step, { minLength: 1, maxLength: 12 }),
      fc.nat(11),
      fc.integer({ min: 0, max: 20_000 }),
      async (steps, killAfter, awayMs) => {
        const w = world()
        for (const n of [1, 2, 3]) w.plantNode(`n-${n}`)
        await w.recorder()
        const truth: { readonly node: string; readonly status: string; readonly at: number }[] = []
        let copy: string | undefined
        let killedAt = 0
        for (const [i, { node, status, ms }] of steps.entries()) {
          await w.clock.advance(ms)
          w.setReady(`n-${node}`, status)
          truth.push({ node: `n-${node}`, status, at: w.clock.now() })
          // The change was delivered but may be in memory only.
          await w.clock.advance(ms % 5)
          if (i === Math.min(killAfter, steps.length - 1)) {
            copy = w.snapshot()
            killedAt = w.clock.now()
          }
        }
        await w.clock.advance(awayMs)
        if (copy === undefined) throw new Error('it was killed')
        const second = await w.recorder(copy)
        await second.stop()
        const gaps = w.read((r) => r.gaps(), copy).filter((g) => g.kind === 'Node')
        expect(gaps.map((g) => g.why)).toEqual(['RecorderAway'])
        const [gap] = gaps
        expect(killedAt - (gap?.starts ?? 0)).toBeLessThanOrEqual(5_500)
        for (const name of ['n-1', 'n-2', 'n-3']) {
          const last = truth.filter((t) => t.node === name).at(-1)
          expect(w.readyOf(name, copy).at(-1)).toBe(last?.status ?? 'True')
        }
        // Each transition before the gap was recorded.
        for (const { node, status, at } of truth) {
          const before = truth.filter((t) => t.node === node && t.at < at).at(-1)
          if (before?.status === status && before.at >= at - 1_000) continue
          if (at >= (gap?.starts ?? 0)) continue
          expect(w.readyOf(node, copy)).toContain(status)
        }
      },
    ),
    { numRuns: 25 },
  )
})

test('a watch that lost its place is a gap of its kind, from the last that was observed', async () => {
  const w = world()
  w.plantNode('n-1')
  const part = await w.recorder()
  await w.clock.advance(30_000)
  w.kube.faults = { ...w.kube.faults, call: () => ({ kind: 'lose', when: 'before' }) }
  w.kube.closeWatches('history', 'lost')
  await w.clock.advance(5_000)
  w.setReady('n-1', 'False')
  w.setReady('n-1', 'True')
  w.kube.compact()
  w.kube.faults = { ...w.kube.faults, call: () => undefined }
  await w.clock.advance(120_000)
  await part.stop()
  const gaps = w.read((r) => r.gaps()).filter((g) => g.kind === 'Node')
  expect(gaps.length).toBeGreaterThan(0)
  expect(gaps.every((g) => g.why === 'WatchLost' || g.why === 'WatchLate')).toBe(true)
})

test('a server that was restored from a backup is a gap, and what is in the backup is the state from then on', async () => {
  const w = world()
  w.plantNode('n-1')
  w.plantNode('n-2')
  const backup = w.server()
  for (const node of w.kube.all(nodeType)) backup.restore(nodeType, structuredClone(node))
  let server = w.kube
  const client = new Proxy(w.kube.client({ actor: 'history' }), {
    get: (_, method) => {
      const now: unknown = server.client({ actor: 'history' })
      const value: unknown = Reflect.get(now as object, method, now)
      return typeof value === 'function' ? value.bind(now) : value
    },
  })
  const part = await w.recorder(w.folder, client)
  for (const status of ['False', 'True', 'False']) {
    w.setReady('n-1', status)
    await w.clock.advance(10_000)
  }
  // It does not know the versions that were handed out after the backup.
  const refusedUntil = w.clock.now() + 660_000
  backup.faults = {
    ...backup.faults,
    call: (c) =>
      c.verb === 'watch' && w.clock.now() < refusedUntil ? { kind: 'refuse', when: 'before', code: 410 } : undefined,
  }
  server = backup
  w.kube.closeWatches('history', 'lost')
  await w.clock.advance(1_200_000)
  await part.stop()
  expect(w.readyOf('n-1')).toEqual(['True', 'False', 'True', 'False', 'True'])
  const gaps = w.read((r) => r.gaps()).filter((g) => g.kind === 'Node')
  expect(gaps.map((g) => g.why)).toContain('ServerWentBack')
})

test('an object that flaps is recorded so often in an hour, then is a gap until the hour ends with its true state', async () => {
  const w = world({ bounds: { rowsPerHour: 20 } })
  w.plantNode('n-1')
  w.plantNode('n-2')
  const part = await w.recorder()
  for (let n = 0; n < 100; n++) {
    w.setReady('n-1', n % 2 === 0 ? 'False' : 'True')
    await w.clock.advance(1_000)
  }
  w.setReady('n-1', 'Unknown')
  w.setReady('n-2', 'False')
  await w.clock.advance(1_000)
  w.clock.jumpWall(3_600_000)
  await w.clock.advance(2_000)
  await part.stop()
  expect(w.readyOf('n-1').length).toBeLessThan(25)
  expect(w.readyOf('n-1').at(-1)).toBe('Unknown')
  expect(w.readyOf('n-2')).toEqual(['True', 'False'])
  const gap = w.read((r) => r.gaps().find((g) => g.subject !== undefined))
  expect(gap).toMatchObject({ why: 'TooManyChanges', subject: { name: 'n-1' } })
})

test('a damaged file is set aside with a message, and a new history begins with a gap', async () => {
  const lines: string[] = []
  const w = world({ log: loggerTo((_, message) => lines.push(message)) })
  w.plantNode('n-1')
  await (await w.recorder()).stop()
  const file = historyFile(w.folder, CLUSTER)
  const bytes = readFileSync(file)
  bytes.fill(0x5a, 8_192 * 2, 8_192 * 4)
  writeFileSync(file, bytes)
  await (await w.recorder()).stop()
  expect(lines).toContain('the history was damaged: it is set aside, and a new one begins')
  expect(readdirSync(w.folder).some((name) => name.includes('.aside-'))).toBe(true)
  expect(w.readyOf('n-1')).toEqual(['True'])
  expect(w.read((r) => r.gaps().map((g) => g.why))).toContain('FileDamaged')
})

test('a second recorder of the same folder is refused while the first one runs', async () => {
  const w = world()
  const part = await w.recorder()
  await expect(w.recorder()).rejects.toMatchObject({ code: 'KN17002' })
  await part.stop()
  await (await w.recorder()).stop()
})

test('a clock that goes back a little: time stands still, and the span is a gap', async () => {
  const w = world()
  w.plantNode('n-1')
  const part = await w.recorder()
  await w.clock.advance(10_000)
  w.setReady('n-1', 'False')
  await w.clock.advance(1_000)
  const before = w.clock.now()
  w.clock.jumpWall(-600_000)
  await w.clock.advance(5_000)
  w.setReady('n-1', 'True')
  await w.clock.advance(1_000)
  await part.stop()
  const rows = w.read((r) => [...r.rows()].map((t) => t.observed))
  expect(rows).toEqual(rows.toSorted((a, b) => a - b))
  expect(rows.at(-1)).toBeGreaterThanOrEqual(before - 1_000)
  expect(w.readyOf('n-1')).toEqual(['True', 'False', 'True'])
  expect(w.read((r) => r.gaps().map((g) => g.why))).toContain('ClockWentBack')
})

test('a clock that goes back by hours begins a new history, and the old file stays', async () => {
  const w = world()
  w.plantNode('n-1')
  const part = await w.recorder()
  w.clock.jumpWall(-5 * 3_600_000)
  await w.clock.advance(10_000)
  w.setReady('n-1', 'False')
  await w.clock.advance(2_000)
  await part.stop()
  expect(readdirSync(w.folder).some((name) => name.includes('.aside-'))).toBe(true)
  expect(w.readyOf('n-1').at(-1)).toBe('False')
  expect(w.read((r) => r.span()?.begins)).toBeLessThan(w.clock.now() + 1)
})

test('a clock that jumps ahead, or a machine that slept, is a gap', async () => {
  const w = world()
  const part = await w.recorder()
  await w.clock.advance(10_000)
  w.clock.jumpWall(3_600_000)
  await w.clock.advance(2_000)
  await part.stop()
  expect(w.read((r) => r.gaps().map((g) => g.why))).toContain('ClockJumped')
})

test('the state at any moment is what was observed until then', async () => {
  const w = world()
  w.plantNode('n-1')
  const part = await w.recorder()
  const states: { readonly at: number; readonly status: string }[] = []
  for (const status of ['False', 'True', 'Unknown', 'True']) {
    await w.clock.advance(10_000)
    w.setReady('n-1', status)
    await w.clock.advance(1_000)
    states.push({ at: w.clock.now(), status })
  }
  await part.stop()
  for (const { at, status } of states) {
    const facts = w.read((r) => r.subjects('Node', 'n-1').flatMap((s) => r.stateOf(s, at)))
    expect(facts.find((f) => f.topic === 'status/conditions/Ready')?.value).toContain(`"status":"${status}"`)
  }
})

test('the life of a cluster counts nodes that are not ready, from the state before the time on', async () => {
  const w = world()
  for (const n of [1, 2, 3]) w.plantNode(`n-${n}`)
  const part = await w.recorder()
  w.setReady('n-1', 'False')
  await w.clock.advance(10_000)
  const from = w.clock.now()
  w.setReady('n-2', 'Unknown')
  await w.clock.advance(10_000)
  w.setReady('n-1', 'True')
  w.setReady('n-2', 'True')
  await w.clock.advance(10_000)
  w.kube.uproot(nodeType, { name: 'n-3' })
  await w.clock.advance(1_000)
  await part.stop()
  const life = w.read((r) => atOnce(clusterLifeOf(r, { from, to: w.clock.now() })))
  expect(life.lanes.find((l) => l.name === 'nodes')?.states.map((s) => [s.state, s.text])).toEqual([
    ['Bad', '1 of 3 not ready'],
    ['Bad', '2 of 3 not ready'],
    ['Good', '3 ready'],
    ['Good', '2 ready'],
  ])
  const none = w.read((r) => atOnce(clusterLifeOf(r, { from, to: w.clock.now() }, (kind) => kind !== 'Node')))
  expect([none.lanes, none.rows]).toEqual([[], []])
})

test('the state of many objects at a moment is that of each one', async () => {
  const w = world()
  for (let n = 0; n < 150; n++) w.plantNode(`n-${n}`)
  const part = await w.recorder()
  for (const n of [3, 77, 149]) w.setReady(`n-${n}`, 'False')
  w.kube.uproot(nodeType, { name: 'n-4' })
  await w.clock.advance(10_000)
  const at = w.clock.now()
  await w.clock.advance(1_000)
  w.setReady('n-3', 'True')
  w.plantNode('n-200')
  await w.clock.advance(1_000)
  await part.stop()
  w.read((r) => {
    const one = r.subjects('Node').map((s) => [s.name, r.stateOf(s, at)] as const)
    const all = [...r.statesAt('Node', at)].map(({ subject, facts }) => [subject.name, facts] as const)
    const byTopic = ([name, facts]: (typeof one)[number]) => [
      name,
      facts.toSorted((a, b) => (a.topic < b.topic ? -1 : 1)),
    ]
    const byName = (a: readonly unknown[], b: readonly unknown[]) => (String(a[0]) < String(b[0]) ? -1 : 1)
    expect(all.map(byTopic).toSorted(byName)).toEqual(
      one
        .filter(([, facts]) => facts.length > 0)
        .map(byTopic)
        .toSorted(byName),
    )
    expect(all.map(([name]) => name)).not.toContain('n-4')
  })
})

test('files are for their owner alone', async () => {
  const w = world()
  await (await w.recorder()).stop()
  expect(existsSync(historyFile(w.folder, CLUSTER))).toBe(true)
})
