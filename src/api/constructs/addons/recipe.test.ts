// A recipe says exactly what runs: images by digest, known facts, an own version; and it is filled without adding a field.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { KubeObject } from '../../schema/object.ts'
import { makeRecipe, type RecipeMistake, type RecipeSource } from './make-recipe.ts'
import { filled, readRecipe, RECIPE_KEYS } from './recipe.ts'
import { addonProblem } from './table.ts'

const DIGEST = `sha256:${'a'.repeat(64)}`
const pinned = `example.test/proxy@${DIGEST}`
const daemonSet = (image: string, more = ''): string => `
apiVersion: apps/v1
kind: DaemonSet
metadata: { name: proxy, namespace: kube-system }
spec:
  selector: { matchLabels: { app: proxy } }
  template:
    metadata: { labels: { app: proxy } }
    spec:
      hostNetwork: true
      initContainers: [{ name: prepare, image: '${pinned}' }]
      containers:
        - name: proxy
          image: ${image}
          args: ['--cluster-cidr=$(KUBENODE_POD_RANGE)', '--master=$(KUBENODE_API_SERVER)'${more}]
`
const source = (more: Partial<RecipeSource> = {}): RecipeSource => ({
  name: 'proxy',
  version: '1.36.1',
  kubernetes: '1.34-1.36',
  isAfterNodes: false,
  manifests: daemonSet(pinned),
  images: new Map(),
  ...more,
})
const FACTS = {
  CLUSTER: 'one',
  KUBERNETES_VERSION: '1.36.1',
  POD_RANGE: '10.244.0.0/16',
  SERVICE_RANGE: '10.96.0.0/16',
  DNS_DOMAIN: 'cluster.local',
  DNS_ADDRESS: '10.96.0.10',
  API_SERVER: 'https://one.example.test:6443',
}

function made(more: Partial<RecipeSource> = {}) {
  const recipe = makeRecipe(source(more))
  if ('why' in recipe) throw new Error(recipe.why)
  return recipe
}

const containers = ([object]: readonly KubeObject[]) =>
  (object as unknown as { spec: { template: { spec: { containers: object[] } } } }).spec.template.spec.containers

test('what the command makes is what the hub reads, and its digest is of the content alone', () => {
  const { configMap, digest } = made()
  expect(configMap).toMatchObject({
    immutable: true,
    metadata: { name: 'addon-proxy-1.36.1', namespace: 'kubenode-clusters' },
  })
  const recipe = readRecipe(configMap['data'] as Record<string, string>)
  expect(recipe).toMatchObject({ digest, minors: [34, 36], isAfterNodes: false })
  expect(made({ name: 'other', version: '2' }).digest).toBe(digest)
  expect(made({ isAfterNodes: true }).digest).not.toBe(digest)
})

test('the shipped recipe of kube-proxy is one, and finds the API server by its own address', () => {
  const shipped = readFileSync(join(import.meta.dirname, '../../../../deploy/recipes/kube-proxy.yaml'), 'utf8')
  const { configMap } = made({ manifests: shipped, images: new Map([['registry.k8s.io/kube-proxy', pinned]]) })
  const recipe = readRecipe(configMap['data'] as Record<string, string>)
  if (typeof recipe === 'string') throw new Error(recipe)
  const text = JSON.stringify(filled(recipe.objects, FACTS))
  expect(text).toContain(`server: ${FACTS.API_SERVER}`)
  expect(text).toContain(`clusterCIDR: ${FACTS.POD_RANGE}`)
  expect(text).not.toContain('KUBENODE_')
})

test('the shipped recipe of metrics-server is one, and lets no kubelet have its token unverified', () => {
  const shipped = readFileSync(join(import.meta.dirname, '../../../../deploy/recipes/metrics-server.yaml'), 'utf8')
  const images = new Map([['registry.k8s.io/metrics-server/metrics-server', pinned]])
  const recipe = readRecipe(made({ manifests: shipped, images }).configMap['data'] as Record<string, string>)
  if (typeof recipe === 'string') throw new Error(recipe)
  const text = JSON.stringify(recipe.objects)
  expect(text).toContain('"--kubelet-use-node-status-port"')
  expect(text).not.toContain('insecure-tls')
})

test('images are replaced by what is given for them: a mirror, or a digest', () => {
  const mirror = `mirror.example.test/proxy@${DIGEST}`
  const { configMap } = made({ manifests: daemonSet('proxy:v1'), images: new Map([['proxy:v1', mirror]]) })
  const recipe = readRecipe(configMap['data'] as Record<string, string>)
  expect(typeof recipe === 'string' ? recipe : containers(recipe.objects)).toMatchObject([{ image: mirror }])
})

test('it is filled with what the hub knows, in texts alone', () => {
  const recipe = readRecipe(made().configMap['data'] as Record<string, string>)
  if (typeof recipe === 'string') throw new Error(recipe)
  const hostile = { ...FACTS, API_SERVER: "https://a'}], hostPID: true, x: [{$(KUBENODE_CLUSTER)" }
  expect(containers(filled(recipe.objects, FACTS))).toMatchObject([
    { args: ['--cluster-cidr=10.244.0.0/16', '--master=https://one.example.test:6443'] },
  ])
  expect(containers(filled(recipe.objects, hostile))).toMatchObject([{ args: [{}, `--master=${hostile.API_SERVER}`] }])
  expect(Object.keys(containers(filled(recipe.objects, hostile))[0] ?? {})).toEqual(['name', 'image', 'args'])
})

describe('is refused in words:', () => {
  test.each<[string, Partial<RecipeSource>, string, RecipeMistake['of']?]>([
    ['an image by tag', { manifests: daemonSet('proxy:v1') }, 'DaemonSet proxy: image proxy:v1 has no digest'],
    ['a container without an image', { manifests: daemonSet('null') }, 'image of a container has no digest'],
    ['a mirror of nothing', { images: new Map([['other:v1', pinned]]) }, 'no container has the image other:v1'],
    ['an unknown fact', { manifests: daemonSet(pinned, ", '$(KUBENODE_TOKEN)'") }, '$(KUBENODE_TOKEN) is unknown'],
    ['nothing', { manifests: '---\n' }, 'from 1 to 200 objects'],
    ['a text', { manifests: 'hello' }, 'object 1 is no object of Kubernetes'],
    ['no name', { manifests: 'apiVersion: v1\nkind: Service\nmetadata: {}\n' }, 'needs apiVersion, kind and metadata'],
    ['minors backwards', { kubernetes: '1.36-1.34' }, 'no minors of Kubernetes', 'minors'],
    ['another major', { kubernetes: '2.1' }, 'no minors of Kubernetes', 'minors'],
    ['half a minor', { kubernetes: '36' }, 'no minors of Kubernetes', 'minors'],
    ['a version that is no name', { version: '1.0+b' }, 'small letters, digits', 'version'],
    ['a version with two dots', { version: '1..0' }, 'small letters, digits', 'version'],
    ['a name that no ConfigMap has', { name: 'Mine' }, 'small letters, digits', 'name'],
    ['a name of an addon that KubeNode brings', { name: 'coredns' }, "KubeNode's own", 'name'],
    ['keys twice', { manifests: 'kind: A\nkind: B\n' }, 'line 2'],
  ])('%s', (_, more, says, of = 'manifests') => {
    expect(makeRecipe(source(more))).toEqual({ of, why: expect.stringContaining(says) })
  })

  test('settings that this version does not know, which may matter', () => {
    const objects = daemonSet(pinned)
    const read = (settings: string) => readRecipe({ [RECIPE_KEYS.settings]: settings, [RECIPE_KEYS.objects]: objects })
    expect(read('kubernetes: "1.36"\nupgrade: Later\n')).toContain('BeforeNodes or AfterNodes')
    expect(read('kubernetes: "1.36"\nonly: { arm64: true }\n')).toContain('unknown key only')
    expect(read('kubernetes: 1.36\n')).toContain('such as 1.34-1.36')
    expect(readRecipe({})).toContain('needs the keys')
  })

  test('a Cluster that names a recipe of what KubeNode brings, or with values', () => {
    const recipe = 'b'.repeat(64)
    expect(addonProblem({ name: 'proxy', version: '1.36.1', recipe })).toBeUndefined()
    expect(addonProblem({ name: 'coredns', version: '1.12.1', recipe })).toContain("KubeNode's own")
    expect(addonProblem({ name: 'proxy', version: '1', recipe, values: { image: pinned } })).toContain('no values')
    expect(addonProblem({ name: 'proxy', version: '../x', recipe })).toContain('small letters')
    expect(addonProblem({ name: 'proxy', version: '1.36.1' })).toContain('with a recipe on the hub')
  })
})
