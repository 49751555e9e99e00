// `kubenode cluster`: people list, show, extend and reach the clusters of a hub, with the real controller, Defender, roles and policies behind it.
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { API_GROUP_VERSION } from '#api/kind.ts'
import { defenderPolicy } from '#api/kinds/defender-policy.ts'
import { operationalHold } from '#api/kinds/operational-hold.ts'
import { run } from '#cli/program.ts'
import { type ClusterWorld, clusterWorld } from '#test/support/worlds/cluster-world.ts'

let world: ClusterWorld | undefined
afterEach(async () => {
  await world?.close()
  world = undefined
})

async function kubenode(w: ClusterWorld, ...argv: string[]) {
  let said = ''
  let out = ''
  const io = {
    out: (t: string) => void (out += t),
    err: (t: string) => void (said += t),
    cwd: w.root,
    env: { KUBECONFIG: w.hub.kubeconfig },
    isTerminal: false,
  }
  return { code: await run(['cluster', ...argv], io), out, said }
}

const endOf = async (w: ClusterWorld, name: string): Promise<number> =>
  Date.parse((await w.get(name))?.status?.expiresAt ?? '')

test('an extension moves the end, a policy caps it with its name in the error, and an expired cluster comes back', async () => {
  const w = (world = await clusterWorld())
  await w.declare('one', { ttl: '2h' }, true)
  await w.untilPhase('one', 'Ready')
  const end = await endOf(w, 'one')
  const extended = await kubenode(w, 'extend', 'one', '--for', '1h', '--reason', 'a demo')
  expect(extended).toMatchObject({
    code: 0,
    out: expect.stringMatching(/^cluster\/one expires at .* instead of .*: a demo/),
  })
  await w.until('the later end is in the status', async () => (await endOf(w, 'one')) === end + 3_600_000)
  expect((await kubenode(w, 'show', 'one')).out).toMatch(/extended +by .*: a demo \(operationalhold\/extend-one-/)

  await w.admin.create(defenderPolicy, {
    apiVersion: API_GROUP_VERSION,
    kind: 'DefenderPolicy',
    metadata: { name: 'short-lived' },
    spec: { clusters: { maxTtl: '4h' } },
  } as never)
  const capped = await kubenode(w, 'extend', 'one', '--for', '3h', '--reason', 'longer')
  expect(capped).toMatchObject({ code: 2, said: expect.stringMatching(/KN1693.*policy short-lived allows at most 4h/) })
  expect((await w.admin.list(operationalHold)).items).toHaveLength(1)

  for (const { metadata } of (await w.admin.list(operationalHold)).items)
    await w.admin.delete(operationalHold, { name: metadata.name ?? '' })
  await w.declare('one', { ttl: '1ms' }, true)
  await w.untilPhase('one', 'Expired')
  expect((await kubenode(w, 'list')).out).toMatch(/one +Expired .* ago/)
  const back = await kubenode(w, 'extend', 'one', '--for', '1h', '--reason', 'not done yet')
  expect(back).toMatchObject({ code: 0, said: expect.stringContaining('starts again with its data') })
  await w.untilPhase('one', 'Ready')
})

test('the list and one cluster are printed for people and for programs', async () => {
  const w = (world = await clusterWorld())
  expect(await kubenode(w, 'list')).toMatchObject({ code: 0, out: '', said: expect.stringContaining('no clusters') })
  await w.declare('one', { stage: 'test' })
  await w.untilPhase('one', 'Ready')
  expect((await kubenode(w, 'list')).out).toMatch(/^NAME +PHASE .*\none +Ready +True +1\.36\.0 +No +test +<none>/)
  expect((await kubenode(w, 'list', '-A', '-o', 'wide')).out).toMatch(
    /^NAMESPACE .*ENDPOINT .*WAITS FOR\nkubenode-system .*https:/,
  )
  const json: unknown = JSON.parse((await kubenode(w, 'list', '-o', 'json')).out)
  expect(json).toMatchObject({ kind: 'List', items: [{ metadata: { name: 'one' } }] })
  expect((await kubenode(w, 'list', '-o', 'name')).out).toBe('cluster.kubenode.io/one\n')
  expect((await kubenode(w, 'show', 'one', '-o', 'yaml')).out).toContain('kind: Cluster')
})

test('the kubeconfig reaches the cluster as sync; a user without the right learns where it is and who may read it', async () => {
  const w = (world = await clusterWorld())
  await w.declare('one')
  await w.untilPhase('one', 'Ready')
  const { code, out, said } = await kubenode(w, 'kubeconfig', 'one')
  expect([code, said]).toEqual([0, expect.stringContaining('identity of sync')])
  expect(out).toContain((await w.get('one'))?.status?.endpoint)
  expect(out).toContain('kubenode:sync')

  const file = join(w.root, '.reader.kubeconfig')
  const own = readFileSync(w.hub.kubeconfig, 'utf8')
  writeFileSync(file, own.replace(/^( +)(client-certificate)/m, '$1as: kubenode:defender\n$1$2'), { mode: 0o600 })
  const refused = await kubenode(w, 'kubeconfig', 'one', '--kubeconfig', file)
  expect(refused).toMatchObject({ code: 2, out: '' })
  expect(refused.said).toMatch(/KN2403.*kubenode-clusters\/cluster-one/)
})
