// The recipe of kube-proxy that KubeNode ships, with the real program on a node where nothing else leads Services to their pods: with it CoreDNS finds the API server, and
// the node finds CoreDNS.
// Needs root, containerd, iptables, busybox, and KUBEBUILDER_ASSETS with coredns and kube-proxy; otherwise it says what is missing.
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { dnsAddress } from '#api/constructs/addons/coredns.ts'
import { makeRecipe } from '#api/constructs/addons/make-recipe.ts'
import { filled, readRecipe } from '#api/constructs/addons/recipe.ts'
import { addonObjects } from '#api/constructs/addons/table.ts'
import { type RealCluster, startCluster, whyNoCluster } from '#test/support/servers/real/cluster.ts'
import { SERVICE_RANGE } from '#test/support/servers/real/pki.ts'
import { programFile, whyNoPrograms } from '#test/support/servers/real/programs.ts'
import { Kubectl } from '#test/support/tools/kubectl.ts'
import { until } from '#test/support/tools/processes.ts'
import { putImage } from './hub-programs.ts'
import { whyNoWeb } from './node-world.ts'

const MINUTES_MS = 600_000
const DOMAIN = 'cluster.local'
const SHIPPED = join(import.meta.dirname, '../../../deploy/recipes/kube-proxy.yaml')
const IMAGE = 'registry.k8s.io/kube-proxy'
const TOOLS = ['iptables', 'iptables-save', 'iptables-restore', 'ip6tables', 'ip6tables-save', 'ip6tables-restore']
const LIBRARIES = `${process.arch === 'arm64' ? 'aarch64' : 'x86_64'}-linux-gnu`
const PLUGINS = `/usr/lib/${LIBRARIES}/xtables`
/** Of the plugin that shares out connections among the pods of a Service: with one pod it is not asked for. */
const MATHS = `/lib/${LIBRARIES}/libm.so.6`
/** A sealed host may not change limits that all hosts here share. */
const OWN_LIMITS = ['mode: iptables\n', 'mode: iptables\n    conntrack: { maxPerCore: 0 }\n'] as const

const why = whyNoCluster() ?? whyNoPrograms(['coredns', 'kube-proxy']) ?? whyNoWeb()

describe('the recipe of kube-proxy', () => {
  beforeEach((context) => {
    if (why !== undefined) context.skip(why)
  })
  const folder = mkdtempSync('/var/tmp/kn-proxy-')
  let cluster: RealCluster
  let kubectl: Kubectl
  let on: readonly { readonly ctr: RealCluster['node']['ctr']; readonly scratch: string }[]

  const rolledOut = (what: string) =>
    kubectl.ok(`rollout status ${what} -n kube-system --timeout=120s`).catch(async (cause: unknown) => {
      const { out, err } = await kubectl.run(`logs ${what} -n kube-system`)
      throw new Error(out + err, { cause })
    })

  beforeAll(async () => {
    if (why !== undefined) return
    cluster = await startCluster({ leads: false })
    kubectl = new Kubectl(cluster)
    on = [{ ctr: cluster.node.ctr, scratch: folder }]
  }, MINUTES_MS)
  afterAll(async () => {
    await (cluster as RealCluster | undefined)?.stop()
    rmSync(folder, { recursive: true, force: true })
  }, MINUTES_MS)

  test(
    'runs on each node',
    async () => {
      const image = await putImage(folder, {
        name: 'kube-proxy',
        programs: [programFile('kube-proxy'), ...TOOLS.map((tool) => `/usr/sbin/${tool}`)],
        files: [...readdirSync(PLUGINS).map((file) => join(PLUGINS, file)), MATHS],
        on,
      })
      const manifests = readFileSync(SHIPPED, 'utf8').replace(...OWN_LIMITS)
      const about = { name: 'kube-proxy', version: '1', kubernetes: '1.36', isAfterNodes: true }
      const made = makeRecipe({ ...about, manifests, images: new Map([[IMAGE, image]]) })
      if ('why' in made) throw new Error(made.why)
      const recipe = readRecipe(made.configMap['data'] as Record<string, string>)
      if (typeof recipe === 'string') throw new Error(recipe)
      const facts = { CLUSTER: 'one', KUBERNETES_VERSION: '1.36.2', POD_RANGE: '10.244.0.0/16', DNS_DOMAIN: DOMAIN }
      const addresses = { SERVICE_RANGE, DNS_ADDRESS: dnsAddress(SERVICE_RANGE), API_SERVER: cluster.url }
      await kubectl.apply(filled(recipe.objects, { ...facts, ...addresses }))
      await rolledOut('daemonset/kube-proxy')
    },
    MINUTES_MS,
  )

  test(
    'leads pods to the API server, and the node to the pods of a Service',
    async () => {
      const image = await putImage(folder, { name: 'coredns', programs: [programFile('coredns')], on })
      const values = { image, upstream: cluster.host.outside }
      const network = { services: SERVICE_RANGE, domain: DOMAIN }
      await kubectl.apply(addonObjects({ name: 'coredns', version: '1.13.1', values }, network))
      await rolledOut('deployment/coredns')
      const first = await kubectl.ok('get service kubernetes -o', ['jsonpath={.spec.clusterIP}'])
      const said = await until(
        'an answer',
        async () => {
          const name = `kubernetes.default.svc.${DOMAIN}`
          const out = cluster.host.run('/bin/sh', [
            '-c',
            `busybox nslookup ${name} ${dnsAddress(SERVICE_RANGE)} || true`,
          ])
          return out.includes(first) ? out : undefined
        },
        MINUTES_MS,
      )
      expect(said).toContain(dnsAddress(SERVICE_RANGE))
    },
    MINUTES_MS,
  )
})
