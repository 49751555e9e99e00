// The recipe of metrics-server that KubeNode ships, with the real program: it starts under its own rights, verifies the kubelet, and the API server asks it at its endpoint,
// as that of a cluster on a hub does.
// Needs root, containerd, busybox, and KUBEBUILDER_ASSETS with metrics-server; otherwise it says what is missing.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { dnsAddress } from '#api/constructs/addons/coredns.ts'
import { makeRecipe } from '#api/constructs/addons/make-recipe.ts'
import { filled, readRecipe } from '#api/constructs/addons/recipe.ts'
import { healthOf } from '#delivery/health.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { NODE_NAME, type RealCluster, startCluster, whyNoCluster } from '#test/support/servers/real/cluster.ts'
import { SERVICE_RANGE } from '#test/support/servers/real/pki.ts'
import { programFile, whyNoPrograms } from '#test/support/servers/real/programs.ts'
import { Kubectl } from '#test/support/tools/kubectl.ts'
import { until } from '#test/support/tools/processes.ts'
import { putImage } from './hub-programs.ts'
import { whyNoWeb } from './node-world.ts'

const MINUTES_MS = 600_000
const WITHIN_MS = 300_000
const SHIPPED = join(import.meta.dirname, '../../../deploy/recipes/metrics-server.yaml')
const IMAGE = 'registry.k8s.io/metrics-server/metrics-server'
const FIGURES = '/apis/metrics.k8s.io/v1beta1'
const SERVED = 'apiservice/v1beta1.metrics.k8s.io'
const ROLLOUT = 'rollout status deployment/metrics-server -n kube-system --timeout=180s'

const SOME = { cpu: expect.stringMatching(/^[1-9]\d*[num]?$/) as string, memory: expect.stringMatching(/^[1-9]\d*Ki$/) }

const why = whyNoCluster() ?? whyNoPrograms(['metrics-server']) ?? whyNoWeb()

describe('the recipe of metrics-server', () => {
  beforeEach((context) => {
    if (why !== undefined) context.skip(why)
  })
  const folder = mkdtempSync('/var/tmp/kn-metrics-')
  let cluster: RealCluster
  let kubectl: Kubectl

  const figures = async (path: string): Promise<unknown> => {
    const { code, out } = await kubectl.run('get --raw', [FIGURES + path])
    return code === 0 ? JSON.parse(out) : undefined
  }

  beforeAll(async () => {
    if (why !== undefined) return
    cluster = await startCluster({ flags: { 'kube-apiserver': ['--enable-aggregator-routing=true'] } })
    kubectl = new Kubectl(cluster)
    const on = [{ ctr: cluster.node.ctr, scratch: folder }]
    const image = await putImage(folder, { name: 'metrics-server', programs: [programFile('metrics-server')], on })
    const busybox = await putImage(folder, { name: 'busybox', programs: ['/bin/busybox'], on })
    const manifests = readFileSync(SHIPPED, 'utf8')
    const about = { name: 'metrics-server', version: '0.8.1', kubernetes: '1.36', isAfterNodes: false }
    const made = makeRecipe({ ...about, manifests, images: new Map([[IMAGE, image]]) })
    if ('why' in made) throw new Error(made.why)
    const recipe = readRecipe(made.configMap['data'] as Record<string, string>)
    if (typeof recipe === 'string') throw new Error(recipe)
    const facts = {
      CLUSTER: 'one',
      KUBERNETES_VERSION: '1.36.2',
      POD_RANGE: '10.244.0.0/16',
      DNS_DOMAIN: 'cluster.local',
    }
    const addresses = { SERVICE_RANGE, DNS_ADDRESS: dnsAddress(SERVICE_RANGE), API_SERVER: cluster.url }
    await kubectl.apply([...filled(recipe.objects, { ...facts, ...addresses }), busy(busybox)])
  }, MINUTES_MS)
  afterAll(async () => {
    await (cluster as RealCluster | undefined)?.stop()
    rmSync(folder, { recursive: true, force: true })
  }, MINUTES_MS)

  test(
    'becomes ready under its own rights, and its API is served',
    async () => {
      await kubectl.ok(ROLLOUT).catch(async (cause: unknown) => {
        const { out, err } = await kubectl.run('logs deployment/metrics-server -n kube-system')
        throw new Error(out + err, { cause })
      })
      await kubectl.ok(`wait ${SERVED} --for=condition=Available --timeout=180s`)
      expect(healthOf(await kubectl.json<KubeObject>(`get ${SERVED}`))).toMatchObject({ state: 'Current' })
      const logs = await kubectl.ok('logs deployment/metrics-server -n kube-system')
      expect(logs).not.toMatch(/forbidden|x509/)
    },
    MINUTES_MS,
  )

  test(
    'has figures of nodes and pods, also for who may only view',
    async () => {
      expect(await figures('/nodes')).toMatchObject({ items: [{ metadata: { name: NODE_NAME }, usage: SOME }] })
      const pod = await until('figures of the pod', () => figures('/namespaces/default/pods/busy'), WITHIN_MS)
      expect(pod).toMatchObject({ containers: [{ name: 'busy', usage: SOME }] })
      expect(await kubectl.ok('top nodes --no-headers')).toMatch(new RegExp(`^${NODE_NAME}\\s+\\d+m\\s`))
      expect(await kubectl.ok('top pods --no-headers')).toMatch(/^busy\s+[1-9]\d*m\s/)
      await kubectl.ok('create clusterrolebinding viewer --clusterrole=view --user=viewer')
      const seenBy = (who: string) => kubectl.run(`get --as=${who} --raw`, [`${FIGURES}/nodes`])
      await until('a view of figures', async () => ((await seenBy('viewer')).code === 0 ? true : undefined), WITHIN_MS)
      expect((await seenBy('stranger')).err).toContain('Forbidden')
    },
    MINUTES_MS,
  )
})

const busy = (image: string) => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'busy', namespace: 'default' },
  spec: {
    terminationGracePeriodSeconds: 1,
    containers: [{ name: 'busy', image, command: ['busybox', 'sh', '-c', 'while :; do busybox sleep 0.05; done'] }],
  },
})
