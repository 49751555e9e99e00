// A pod's service account: the connection from its mount equals client-node's, and each missing part has an error.
import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { KubeConfig } from '@kubernetes/client-node'
import { defined } from '#lib/defined.ts'
import { messageOf } from '#lib/errors.ts'
import { isInPod, podAccount } from './in-cluster.ts'

const MOUNT = 'var/run/secrets/kubernetes.io/serviceaccount'
let root: string
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'kubenode-pod-'))
})
afterEach(() => rmSync(root, { recursive: true, force: true }))

const env = (host = '10.96.0.1', port = '443') => ({ KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: port })

/** As kubelet projects it: a timestamped folder with links to it. */
function mount(files: Readonly<Record<string, string>>): string {
  const folder = join(root, MOUNT)
  mkdirSync(join(folder, '..2026'), { recursive: true })
  for (const [name, text] of Object.entries(files)) {
    writeFileSync(join(folder, '..2026', name), text)
    symlinkSync(`..2026/${name}`, join(folder, name))
  }
  return folder
}

const WHOLE = { token: 'tok\n', 'ca.crt': 'PEM', namespace: 'kubenode-system' }

function byLibrary(given: ReturnType<typeof env>) {
  const before = { ...process.env }
  Object.assign(process.env, given)
  const kc = new KubeConfig()
  try {
    kc.loadFromCluster(root)
  } finally {
    for (const name of Object.keys(given)) {
      const text = before[name]
      if (text === undefined) delete process.env[name]
      else process.env[name] = text
    }
  }
  const [cluster, user, context] = [kc.getCurrentCluster(), kc.getCurrentUser(), kc.getContextObject(kc.currentContext)]
  const provider = user?.authProvider as { readonly config: { readonly tokenFile: string } }
  return {
    server: cluster?.server,
    ca: { file: cluster?.caFile },
    token: { file: provider.config.tokenFile },
    ...defined({ namespace: context?.namespace }),
  }
}

test.each([
  ['an address', env(), WHOLE],
  ['an IPv6 address', env('fd00::1', '6443'), WHOLE],
  ['a name', env('kubernetes.default.svc'), WHOLE],
  ['no namespace', env(), { token: 't', 'ca.crt': 'c' }],
])('the result equals that of client-node: %s', (_, given, files) => {
  mount(files)
  expect(podAccount(given, root)).toEqual(byLibrary(given))
})

const refusal = (given: Readonly<Record<string, string>> = env()): string => {
  try {
    return JSON.stringify(podAccount(given, root))
  } catch (e) {
    return messageOf(e)
  }
}

test.each<[string, Readonly<Record<string, string>>, RegExp]>([
  ['no token', { 'ca.crt': 'c' }, /^KN2017: .*serviceaccount\/token: there is no such file; mount a token/],
  ['an empty token', { token: '\n', 'ca.crt': 'c' }, /^KN2017: .*it is empty/],
  ['no authority', { token: 't' }, /^KN2017: .*ca\.crt: there is no such file; mount the ConfigMap kube-root-ca\.crt/],
])('%s is refused with the file and what to do', (_, files, message) => {
  mount(files)
  expect(refusal()).toMatch(message)
})

test('a token that this user may not read is refused', (context) => {
  if (process.getuid?.() === 0) context.skip('root reads every file')
  const folder = mount(WHOLE)
  chmodSync(join(folder, '..2026', 'token'), 0)
  expect(refusal()).toMatch(/^KN2017: .*permission denied/)
})

test('without the variables of a pod there is no pod', () => {
  mount(WHOLE)
  expect(refusal({})).toMatch(/^KN2017: /)
  for (const part of [{}, { KUBERNETES_SERVICE_HOST: '10.0.0.1' }, env('', '443'), env('10.0.0.1', '')])
    expect(isInPod(part)).toBe(false)
  expect(isInPod(env())).toBe(true)
})
