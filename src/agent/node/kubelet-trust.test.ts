// What an agent reports about its host's kubelet: the authorities it trusts, by the files it really read, and who signed its certificate. Unknown if in doubt.
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { authorityPrints } from '#identity/authority-prints.ts'
import { issueCertificate, newAuthority } from '#lib/x509/certificates.ts'
import { VirtualClock } from '#test/support/clocks/virtual-clock.ts'
import { realFiles } from '../files/real.ts'
import { KubeletTrustWatch, kubeconfigTexts, readKubeletTrust } from './kubelet-trust.ts'

const validity = { now: Date.now(), days: 1 }
const [first, second, foreign] = ['ca-1', 'ca-2', 'ca-3'].map((name) => newAuthority(name, validity)) as [
  ReturnType<typeof newAuthority>,
  ReturnType<typeof newAuthority>,
  ReturnType<typeof newAuthority>,
]
const both = `${first.certificate}${second.certificate}`
const print = (pem: string) => authorityPrints(pem)[0] ?? ''
const leafOf = (authority: typeof first) =>
  issueCertificate(authority, { subject: { commonName: 'system:node:n' }, validity, usage: 'client' }).certificate
const base64 = (text: string) => Buffer.from(text).toString('base64')

/** Boot time of the fake host, in seconds since 1970. */
const BOOT = 1_700_000_000
const STARTED = 1_000

let root = ''
const at = (path: string) => join(root, path)
const files = {
  read: (path: string) => realFiles.read(at(path)),
  stat: (path: string) => realFiles.stat(at(path)),
  readLink: (path: string) => realFiles.readLink(at(path)),
}
beforeEach(() => void (root = mkdtempSync(join(tmpdir(), 'kubenode-kubelet-trust-'))))
afterEach(() => rmSync(root, { recursive: true, force: true }))

function put(path: string, text: string, secondsAfterBoot = 0): void {
  mkdirSync(dirname(at(path)), { recursive: true })
  writeFileSync(at(path), text)
  utimesSync(at(path), BOOT + secondsAfterBoot, BOOT + secondsAfterBoot)
}

function kubeletRuns(...args: readonly string[]): void {
  put('proc/stat', `cpu 1 2 3\nbtime ${BOOT}\nprocesses 9\n`)
  put('proc/1/comm', 'systemd\n')
  put('proc/77/comm', 'kubelet\n')
  put('proc/77/cmdline', `${['/usr/bin/kubelet', ...args].join('\0')}\0`)
  const fields = ['S', '1', '77', '77', ...Array.from({ length: 15 }, () => '0'), String(STARTED * 100), '0']
  put('proc/77/stat', `77 (kubelet) ${fields.join(' ')}\n`)
}

const check = (isExpected = true) => {
  mkdirSync(at('proc'), { recursive: true })
  return readKubeletTrust({ files, trusted: both, isExpected, proc: at('proc') })
}

const CONF = '/etc/kubernetes/kubelet.conf'
const kubeconfig = (ca: string, user: string) => `apiVersion: v1
kind: Config
clusters:
- cluster:
    ${ca}
    server: https://10.0.0.1:6443
  name: default
contexts:
- {context: {cluster: default, user: default}, name: default}
current-context: default
users:
- name: default
  user:
    ${user}
`
const data = (pem: string) => `certificate-authority-data: ${base64(pem)}`
const PAIR = '/var/lib/kubelet/pki/kubelet-client-current.pem'

test('a host without a kubelet has none, and one whose Node a kubelet registered has one that is unknown', async () => {
  expect([await check(false), await check(true)]).toEqual([undefined, {}])
})

test('as kubeadm leaves it: the authority in the file, the certificate in another', async () => {
  put(CONF, kubeconfig(data(both), `client-certificate: ${PAIR}\n    client-key: ${PAIR}`))
  put(PAIR, leafOf(first))
  const want = {
    authorities: [print(first.certificate), print(second.certificate)],
    certificate: { authority: print(first.certificate) },
  }
  expect(await check()).toEqual(want)
  kubeletRuns('--bootstrap-kubeconfig=/x', `--kubeconfig=${CONF}`)
  expect(await check(false)).toEqual(want)
})

test('the file that the running kubelet was given counts, wherever it is', async () => {
  put(CONF, kubeconfig(data(both), 'token: abc'))
  put('/opt/k/conf', kubeconfig('certificate-authority: /opt/k/ca.pem', 'token: abc'))
  put('/opt/k/ca.pem', second.certificate)
  kubeletRuns('--kubeconfig', '/opt/k/conf')
  expect(await check()).toEqual({ authorities: [print(second.certificate)] })
})

test('a file that was written after the kubelet started has not been read by it; one that it wrote at its start has', async () => {
  kubeletRuns(`--kubeconfig=${CONF}`)
  put(CONF, kubeconfig(data(both), 'token: abc'), STARTED + 3_600)
  expect(await check()).toEqual({})
  put(CONF, kubeconfig(data(both), 'token: abc'), STARTED + 20)
  expect((await check())?.authorities).toHaveLength(2)
  put(CONF, kubeconfig('certificate-authority: /ca.pem', 'token: abc'))
  put('/ca.pem', both, STARTED + 3_600)
  expect(await check()).toEqual({})
})

test('a kubelet in a container of the host is not the kubelet of the host', async () => {
  put(CONF, kubeconfig(data(both), 'token: abc'))
  put('/other', kubeconfig(data(first.certificate), 'token: abc'))
  kubeletRuns('--kubeconfig=/other')
  for (const [of, space] of [
    ['77', 'pid:[2]'],
    ['self', 'pid:[1]'],
  ] as const) {
    mkdirSync(at(`proc/${of}/ns`), { recursive: true })
    symlinkSync(space, at(`proc/${of}/ns/pid`))
  }
  expect((await check())?.authorities).toHaveLength(2)
})

test('behind a link, the time of the file counts', async () => {
  kubeletRuns(`--kubeconfig=${CONF}`)
  put('/etc/kubernetes/real.conf', kubeconfig(data(both), 'token: abc'), STARTED + 3_600)
  symlinkSync('real.conf', at(CONF))
  expect(await check()).toEqual({})
  put('/etc/kubernetes/real.conf', kubeconfig(data(both), 'token: abc'), 1)
  expect((await check())?.authorities).toHaveLength(2)
})

test.each([
  ['another authority than those that the agent trusts', () => leafOf(foreign)],
  ['no certificate', () => 'nothing'],
])('a certificate that is of %s has no known authority', async (_, text) => {
  put(CONF, kubeconfig(data(first.certificate), `client-certificate: ${PAIR}`))
  put(PAIR, text())
  expect(await check()).toEqual({ authorities: [print(first.certificate)], certificate: {} })
})

test.each([
  ['two clusters', kubeconfig(`${data(first.certificate)}\n- cluster:\n    ${data(second.certificate)}`, 'token: abc')],
  ['the authorities of the system', kubeconfig('tls-server-name: x', 'token: abc')],
  ['no verification at all', kubeconfig(`${data(both)}\n    insecure-skip-tls-verify: true`, 'token: abc')],
  ['nothing that is read', '{}'],
  ['too much', `${kubeconfig(data(both), 'token: abc')}#${'x'.repeat(300_000)}`],
])('a kubeconfig with %s says nothing of trust', async (_, text) => {
  put(CONF, text)
  expect(await check()).toEqual({})
})

test('a kubeconfig in JSON on several lines is read, too', () => {
  const text = JSON.stringify(
    { cluster: { 'certificate-authority': '/ca.pem' }, user: { 'client-certificate': '/c.pem' } },
    null,
    2,
  )
  expect(kubeconfigTexts(text)).toEqual({
    authorities: { path: '/ca.pem' },
    certificate: { path: '/c.pem' },
    isUnclear: false,
  })
})

test('a change is reported within two minutes, and only a change', async () => {
  const [clock, stop] = [new VirtualClock(), new AbortController()]
  let changes = 0
  mkdirSync(at('proc'))
  const watch = new KubeletTrustWatch({
    files,
    clock,
    trusted: both,
    isExpected: true,
    proc: at('proc'),
    onChange: () => void changes++,
  })
  await watch.check()
  expect([watch.value, changes]).toEqual([{}, 1])
  put(CONF, kubeconfig(data(both), 'token: abc'))
  const running = watch.follow(stop.signal).catch(() => undefined)
  await clock.advance(120_000)
  await expect.poll(() => watch.value?.authorities?.length).toBe(2)
  await clock.advance(120_000)
  stop.abort()
  await running
  expect(changes).toBe(2)
})
