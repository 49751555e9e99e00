// A host of embedded control planes that replaces the authority and the keys of one of them, as fast as its clients follow; for tests that kill it. It says what
// it sees after each step, and first whether what a client was given last still works.
import { existsSync, readFileSync, writeFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { EmbeddedHost } from '#controlplanes/embedded/embedded-host.ts'
import { HOST_RECIPE } from '#controlplanes/embedded/plane-credentials.ts'
import { CLUSTER_AUTHORITY, TOKEN_KEYS } from '#controlplanes/credentials/recipe.ts'
import type { ControlPlane } from '#controlplanes/port.ts'
import { authorityPrints } from '#identity/authority-prints.ts'
import { HttpKubeClient } from '#kube/http/client.ts'
import { parseSafeKubeconfig } from '#kube/kubeconfig-safe.ts'
import { embeddedEngine } from '#programs/planes/embedded-engine.ts'
import { systemClock } from '#lib/system-clock.ts'
import { atOnce } from '../fleets/at-once-recipe.ts'

export interface RotationSaid {
  readonly declared: Readonly<Record<string, number>>
  readonly phases: readonly string[]
  readonly trusted: readonly string[]
  readonly signer: string
  /** Of a client with what it was given last. */
  readonly isServed: boolean
}

const ID = 'fleet.killed'
const [root = '', number = '1'] = process.argv.slice(2)
const given = join(root, 'given.kubeconfig')
const host = new EmbeddedHost({
  root: join(root, 'planes'),
  clock: systemClock,
  engine: embeddedEngine(),
  recipe: atOnce(HOST_RECIPE),
})

const planeNow = async (): Promise<ControlPlane> => {
  const plane = await host.get(ID)
  if (plane === undefined) throw new Error('there is no control plane')
  return plane
}

async function isServed(): Promise<boolean> {
  const client = new HttpKubeClient(parseSafeKubeconfig(readFileSync(given, 'utf8'), given).config)
  try {
    return (await client.raw({ method: 'GET', path: '/version' })).status === 200
  } catch {
    return false
  } finally {
    client.close()
  }
}

async function say(): Promise<void> {
  const { own, ca } = await planeNow()
  const said: RotationSaid = {
    declared: own?.declared ?? {},
    phases: (own?.rotations ?? []).map(({ name, phase }) => `${name} ${phase}`),
    trusted: authorityPrints(ca),
    signer: own?.signer ?? '',
    isServed: await isServed(),
  }
  writeSync(1, `${JSON.stringify(said)}\n`)
}

async function step(): Promise<ControlPlane> {
  const before = await host.get(ID)
  const agents = [
    { machine: 'm-1', authorities: authorityPrints(before?.ca ?? ''), signedBy: before?.own?.signer ?? '' },
  ]
  const declared = { [CLUSTER_AUTHORITY]: Number(number), [TOKEN_KEYS]: Number(number) }
  const result = await host.put({ id: ID, owner: 'u-1', version: '1.36.0', rotation: { declared, agents } })
  if (result.kind === 'Refused') throw new Error(result.message)
  const config = await host.kubeconfig(ID, { user: 'test', groups: ['system:masters'], lifeMs: 3_600_000 })
  // Not a rename: those are what kills this program.
  writeFileSync(given, config ?? '')
  return planeNow()
}

await host.open()
if (existsSync(given)) await say()
for (;;) {
  const { own } = await step()
  await say()
  if (own?.rotations.length === 0 && own.declared[CLUSTER_AUTHORITY] === Number(number)) break
}
await host.close()
