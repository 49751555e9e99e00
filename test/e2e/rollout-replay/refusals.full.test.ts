// An API server that refuses everything for a minute in the middle of a rollout: programs and agents ask seldom meanwhile, and afterwards the rollout ends
// as it would have without, with no machine too many disturbed.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { machineComponentSet } from '#api/kinds/machine-component-set.ts'
import { HttpKubeClient } from '#kube/http/client.ts'
import { startedApiServer } from '#test/support/servers/apiserver-process.ts'
import { REFUSALS, startRefusingProxy, type RefusingProxy } from '#test/support/faults/refusing-proxy.ts'
import { sleep } from '#test/support/tools/processes.ts'
import { type ClusterServer, ProcessCluster, until } from './cluster.ts'
import { Observer } from './observer.ts'
import { COMPONENT, SET, plantFleet } from './planted-fleet.ts'

const MACHINES = 40
const LIMIT = 4
const REFUSED_MS = 60_000
const RESTART_MS = 1_000
/** A busy machine takes minutes for what an idle one does in seconds. */
const WITHIN_MS = 280_000
/** The controllers hold some twenty watches, each of which is tried again at growing intervals; an agent asks less than once in three seconds. */
const MOST_PER_SECOND = 10
const MOST_PER_AGENT = 1
/** All agents here have one identity. */
const AGENTS = 'kubernetes-admin'

const embedded = async (folder: string): Promise<ClusterServer> => {
  const server = await startedApiServer(folder)
  return {
    ...server,
    kubeconfig: join(folder, 'admin.kubeconfig'),
    stop: async () => void (await server.end('SIGTERM')),
  }
}

describe('F11 a server that refuses for a minute', () => {
  let proxy: RefusingProxy
  let direct: HttpKubeClient
  let cluster: ProcessCluster | undefined
  const stop = new AbortController()
  const observer = new Observer(LIMIT)
  let version = 0

  /** All programs and agents go through the proxy; only the test sees the server itself. */
  async function behindProxy(folder: string): Promise<ClusterServer> {
    mkdirSync(folder, { recursive: true })
    const server = await embedded(join(folder, 'server'))
    const { url, ca, cert, key } = server
    direct = new HttpKubeClient({
      server: url,
      ca: { data: ca },
      clientCertificate: { cert: { data: cert }, key: { data: key } },
    })
    proxy = await startRefusingProxy(server)
    const both = `${ca.trim()}\n${proxy.ca}`
    const kubeconfig = join(folder, 'proxied.kubeconfig')
    const text = readFileSync(server.kubeconfig, 'utf8').replace(/server: \S+/, `server: ${proxy.url}`)
    const authority = `certificate-authority-data: ${Buffer.from(both).toString('base64')}`
    writeFileSync(kubeconfig, text.replace(/certificate-authority-data: \S+/, authority), { mode: 0o600 })
    const ends = async () => {
      await proxy.close()
      direct.close()
      await server.stop()
    }
    return { url: proxy.url, ca: both, cert, key, kubeconfig, stop: ends }
  }

  /** Who loses its lease ends, and its supervisor starts it again. */
  function keep(of: ProcessCluster, role: 'controllers' | 'defender'): void {
    of.run(role, { onEnd: () => void (stop.signal.aborted || setTimeout(() => keep(of, role), RESTART_MS)) })
  }

  const status = async () => {
    const set = await direct.get(machineComponentSet, { name: SET })
    return set?.status?.observedGeneration === set?.metadata.generation ? set?.status : undefined
  }

  beforeAll(async () => {
    cluster = new ProcessCluster({ startServer: behindProxy })
    await cluster.start()
    const { client, hollowDir } = cluster
    mkdirSync(`${hollowDir}/hosts`, { recursive: true })
    await plantFleet({ client, hollowDir, count: MACHINES, settle: '500ms', maxUnavailable: LIMIT })
    for (const role of ['controllers', 'defender'] as const) keep(cluster, role)
    await until('rest', status, (s) => s?.phase === 'Complete' && s.counts?.healthy === MACHINES, WITHIN_MS)
    observer.run(direct, stop.signal).catch(() => undefined)
  }, 400_000)
  afterAll(async () => {
    stop.abort()
    await cluster?.stop()
  })

  test.for(Object.entries(REFUSALS))(
    '%s: no storm, nothing lost, nothing done twice',
    { timeout: REFUSED_MS + 2 * WITHIN_MS },
    async ([, refusal], context) => {
      const next = `1.${(version = 1 - version)}.0`
      const components = [{ name: COMPONENT, version: next }]
      await direct.patch(machineComponentSet, { name: SET }, { type: 'merge', value: { spec: { components } } })
      await until(
        'the first machines',
        async () => observer.updated(next),
        (n) => n >= 6,
        WITHIN_MS,
      )
      proxy.begin(refusal)
      await sleep(REFUSED_MS)
      const asked = proxy.end()
      const began = performance.now()
      await until(
        'the end of the rollout',
        status,
        (s) => s?.phase === 'Complete' && s.counts?.updated === MACHINES && observer.updated(next) === MACHINES,
        WITHIN_MS,
      )
      const perSecond = Object.fromEntries([...asked].map(([user, n]) => [user, (n * 1_000) / REFUSED_MS]))
      await context.annotate(
        JSON.stringify({ perSecond, recovered_s: Math.round((performance.now() - began) / 1_000) }),
      )
      expect(Object.keys(perSecond).length).toBeGreaterThanOrEqual(3)
      const mostOf = (user: string) => (user === AGENTS ? MOST_PER_AGENT * MACHINES : MOST_PER_SECOND)
      expect(Object.entries(perSecond).filter(([user, rate]) => rate > mostOf(user))).toEqual([])
      expect(observer.violations).toBe(0)
    },
  )
})
