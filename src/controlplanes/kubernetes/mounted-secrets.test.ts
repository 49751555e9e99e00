// Each program gets only the keys it uses, and changing one credential replaces exactly the pods that read it.
import { X509Certificate } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { PARTS, SECRETS, type SecretName } from '#api/constructs/control-plane/settings.ts'
import { credentials, type CredentialInputs } from '../credentials/graph.ts'
import type { Held } from '../credentials/held.ts'
import { carryOut } from '../credentials/make.ts'
import { TOKEN_KEYS } from '../credentials/recipe.ts'
import { credentialSettings, mountedSecrets, secretFiles, type SecretFiles } from './mounted-secrets.ts'
import { kubernetesRecipe, LEAVES } from './recipe.ts'

const NOW = Date.UTC(2030, 0, 1)
const inputs: CredentialInputs = {
  recipe: kubernetesRecipe({ etcdHosts: ['*.etcd.kc-fleet-prod-1.svc', '127.0.0.1'] }),
  endpoint: 'https://10.0.0.1:6443',
  hosts: [],
  declared: {},
  servers: { total: 0, running: [] },
  agents: [],
}

function settled(wanted: CredentialInputs, start: Held = {}): Held {
  let held = start
  for (;;) {
    const [order] = credentials(wanted, NOW, held).orders
    if (order === undefined) return held
    const item = carryOut(order, NOW, held)
    const { [order.name]: _, ...others } = held
    held = item === undefined ? others : { ...others, [order.name]: item }
  }
}
const filesOf = (held: Held): SecretFiles => {
  const files = secretFiles(held)
  if (files === undefined) throw new Error('an item is missing')
  return files
}
const HELD = settled(inputs)
const FILES = filesOf(HELD)

test('every Secret has the files that are mounted, and no others', () => {
  const names = Object.keys(SECRETS) as SecretName[]
  expect(Object.keys(FILES).toSorted()).toEqual(names.toSorted())
  for (const name of names) expect(Object.keys(FILES[name]).toSorted(), name).toEqual([...SECRETS[name]].toSorted())
  expect(mountedSecrets(FILES, 'kc-fleet-prod-1').map(({ metadata }) => metadata.namespace)).toEqual(
    names.map(() => 'kc-fleet-prod-1'),
  )
})

test('nothing is given out while an item is missing', () => {
  for (const name of Object.keys(HELD)) {
    const { [name]: _, ...others } = HELD
    // Those of people and sync are elsewhere.
    const isMounted = !/^(kubeconfig-)?(admin|hub|sync)$/.test(name)
    // A kubeconfig contains its certificate.
    const isInside = name === LEAVES.controllerManager || name === LEAVES.scheduler
    expect(secretFiles(others) === undefined, name).toBe(isMounted && !isInside)
  }
})

test('no private key is in two Secrets but that of service accounts, which two programs share', () => {
  const keys = Object.values(FILES).flatMap((files) => Object.values(files).filter((t) => t.includes('PRIVATE KEY')))
  expect(new Set(keys).size).toBe(keys.length)
})

test('members of etcd serve and ask with one certificate, under the names that peers use', () => {
  const member = new X509Certificate(FILES['etcd-peer']['tls.crt'] ?? '')
  expect(member.keyUsage?.toSorted()).toEqual(['1.3.6.1.5.5.7.3.1', '1.3.6.1.5.5.7.3.2'])
  expect(member.checkHost('etcd-0.etcd.kc-fleet-prod-1.svc')).toBeDefined()
  expect(member.checkHost('etcd-0.etcd.kc-fleet-prod-2.svc')).toBeUndefined()
})

describe('a credential that is made again replaces the pods that read it', () => {
  const before = credentialSettings(FILES)
  test.each<[string, readonly string[]]>([
    ['etcd-server', ['etcd']],
    ['etcd-peer', ['etcd']],
    ['apiserver-etcd', ['apiserver']],
    ['apiserver', ['apiserver']],
    ['front-proxy-client', ['apiserver']],
    ['controller-manager', ['controller-manager']],
    ['scheduler', ['scheduler']],
    ['admin', []],
    ['sync', []],
  ])('%s', (name, parts) => {
    const after = credentialSettings(filesOf(settled({ ...inputs, declared: { [name]: 2 } }, HELD)))
    expect(PARTS.filter((part) => before.credentials[part] !== after.credentials[part])).toEqual(parts)
  })

  test('an old key of service accounts is trusted until its tokens have ended', () => {
    const held = settled({ ...inputs, declared: { [TOKEN_KEYS]: 2 } }, HELD)
    const files = filesOf(held)
    expect(credentialSettings(files).oldTokenKeys).toBe(1)
    expect(files['service-accounts']['sa-old-0.pub']).toBe(FILES['service-accounts']['sa.pub'])
    expect(files['service-accounts']['sa.pub']).not.toBe(FILES['service-accounts']['sa.pub'])
  })
})
