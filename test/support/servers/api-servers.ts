// The servers that a contract is held against: the embedded one always, a real kube-apiserver where KUBEBUILDER_ASSETS names its programs.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createApiServer, type ApiServerOptions } from '#apiserver/api-server.ts'
import { LOOPS } from '#apiserver/loops/loops.ts'
import { embeddedRules } from '#programs/run/embedded-rules.ts'
import { HttpKubeClient } from '#kube/http/client.ts'
import { installAll, installedStorage } from './installed.ts'
import type { RunningServer } from './running-server.ts'
import { startControlPlane } from './real/control-plane.ts'
import { whyNoPrograms } from './real/programs.ts'
import { recording } from '#test/support/rights/record.ts'

export type { RunningServer } from './running-server.ts'

export interface ServerChoice {
  readonly name: string
  /** Whether what a controller manager does is done: a bare kube-apiserver has none. */
  readonly hasLoops: boolean
  readonly start: () => Promise<RunningServer>
  /** With what KubeNode installs into a cluster that is not its own hub. */
  readonly startMember: () => Promise<RunningServer>
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

/** With its plugins and authorizers as kubeadm has them, and no controller manager. */
const startReal = async (): Promise<RunningServer> => ({
  ...(await startControlPlane({ bare: true })),
  lacksAccounts: true,
})

const whyNot = whyNoPrograms(['etcd', 'kube-apiserver'])
if (whyNot !== undefined) process.stderr.write(`a real kube-apiserver: not run, ${whyNot}\n`)

async function startRealMember(): Promise<RunningServer> {
  const server = await startReal()
  const admin = new HttpKubeClient({
    server: server.url,
    ca: { data: server.ca },
    clientCertificate: { cert: { data: server.cert }, key: { data: server.key } },
  })
  await installAll(admin, false).finally(() => admin.close())
  return server
}

export const apiServers: readonly ServerChoice[] = [
  {
    name: 'the embedded server',
    hasLoops: true,
    start: () => startEmbedded(),
    startMember: async () => startEmbedded({ storage: await installedStorage(false) }),
  },
  ...(whyNot === undefined
    ? [{ name: 'a real kube-apiserver', hasLoops: false, start: startReal, startMember: startRealMember }]
    : []),
]
