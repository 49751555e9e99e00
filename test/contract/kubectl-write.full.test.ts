// kubectl writes: create, apply on both sides, edit, patch, replace, label, annotate, scale, delete, wait, diff, roll out.
import { chmodSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { KubeObject } from '#api/schema/object.ts'
import { apiServers, type RunningServer } from '#test/support/servers/api-servers.ts'
import { inFullAll } from '#test/support/tools/full.ts'
import { documents, fresh, Kubectl } from '#test/support/tools/kubectl.ts'

const configMap = (name: string, data: Readonly<Record<string, string>> = {}, metadata = {}) => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, ...metadata },
  data,
})
const deployment = (name: string, replicas = 1) => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name },
  spec: {
    replicas,
    selector: { matchLabels: { app: name } },
    template: { metadata: { labels: { app: name } }, spec: { containers: [{ name: 'main', image: 'img:1' }] } },
  },
})
const pod = (name: string, metadata = {}) => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name, ...metadata },
  spec: { containers: [{ name: 'main', image: 'img:1' }] },
})

type Configured = KubeObject & { readonly data?: Readonly<Record<string, string>> }

const NS = 'writing'
const N = `-n ${NS}`

/** `kubectl create …`, and what is read back of it. */
const CREATIONS: readonly (readonly [words: string, read: string, expected: string])[] = [
  [
    'ingress made --rule=x.example.org/*=service:http,tls=secret',
    'ingress made -o jsonpath={.spec.rules[0].host}/{.spec.rules[0].http.paths[0].backend.service.port.name}/{.spec.tls[0].secretName}',
    'x.example.org/http/secret',
  ],
  ['configmap made --from-literal=a=1 --from-literal=b=2', 'cm made -o jsonpath={.data}', '{"a":"1","b":"2"}'],
  ['secret generic made --from-literal=token=abc', 'secret made -o jsonpath={.type}/{.data.token}', 'Opaque/YWJj'],
  ['serviceaccount made', 'sa made -o jsonpath={.metadata.name}', 'made'],
  [
    'role made --verb=get,list --resource=pods,pods/log',
    'role made -o jsonpath={.rules[0].resources}',
    '["pods","pods/log"]',
  ],
  [
    'rolebinding made --role=made --user=ada --group=team',
    'rolebinding made -o jsonpath={.subjects[*].name}',
    'ada team',
  ],
  ['clusterrole made --verb=watch --resource=nodes', 'clusterrole made -o jsonpath={.rules[0].verbs}', '["watch"]'],
  [
    'clusterrolebinding made --clusterrole=made --serviceaccount=writing:made',
    'clusterrolebinding made -o jsonpath={.subjects[0].namespace}',
    'writing',
  ],
  [
    'deployment made --image=img:1 --replicas=3',
    'deploy made -o jsonpath={.spec.replicas}/{.spec.template.spec.containers[0].image}',
    '3/img:1',
  ],
  ['job made --image=img:1', 'job made -o jsonpath={.spec.template.spec.restartPolicy}', 'Never'],
  ['cronjob made --image=img:1 --schedule=@hourly', 'cronjob made -o jsonpath={.spec.schedule}', '@hourly'],
  ['service clusterip made --tcp=80:8080', 'svc made -o jsonpath={.spec.ports[0].targetPort}', '8080'],
  ['poddisruptionbudget made --selector=app=x --min-available=50%', 'pdb made -o jsonpath={.spec.minAvailable}', '50%'],
  ['priorityclass made --value=1000', 'priorityclass made -o jsonpath={.value}', '1000'],
  ['quota made --hard=pods=3', 'quota made -o jsonpath={.spec.hard.pods}', '3'],
]

describe.each(apiServers)('kubectl writes to $name', ({ start, hasLoops }) => {
  let server: RunningServer
  let kubectl: Kubectl
  const read = (kind: string, name: string) =>
    kubectl.json<Configured>(`get ${kind} ${name} ${N} --show-managed-fields`)

  /** An editor for KUBE_EDITOR: a sed program run on the file. */
  function editor(sed: string): Readonly<Record<string, string>> {
    const file = join(dirname(server.kubeconfig), fresh('editor'))
    writeFileSync(file, `#!/bin/sh\nexec sed -i '${sed}' "$1"\n`)
    chmodSync(file, 0o755)
    return { KUBE_EDITOR: file }
  }

  beforeAll(async () => {
    server = await start()
    kubectl = new Kubectl(server)
    await kubectl.namespace(NS)
  })
  afterAll(() => server?.stop())

  describe('create', () => {
    test.concurrent.each(inFullAll(CREATIONS, 4))('%s', async (words, wanted, expected) => {
      const [kind = ''] = words.split(' ')
      expect(await kubectl.ok(`create ${words} ${N}`)).toMatch(/ created$/m)
      expect({ kind, read: await kubectl.ok(`get ${wanted} ${N}`) }).toEqual({ kind, read: expected })
    })

    test.concurrent('a second time is refused', async () => {
      const name = fresh('twice')
      await kubectl.ok(`create cm ${name} ${N}`)
      expect(await kubectl.refused(`create cm ${name} ${N}`)).toContain(`configmaps "${name}" already exists`)
    })

    test.concurrent('generateName gives each a name', async () => {
      const stdin = JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { generateName: 'gen-' } })
      const first = await kubectl.ok(`create -f - ${N}`, [], { stdin })
      const second = await kubectl.ok(`create -f - ${N}`, [], { stdin })
      expect(first).toMatch(/^configmap\/gen-[a-z0-9]{5} created/)
      expect(second).not.toBe(first)
    })

    test.concurrent('a dry run on the server stores nothing', async () => {
      const name = fresh('dry')
      const out = await kubectl.ok(`create cm ${name} ${N} --dry-run=server -o yaml`)
      expect(out).toMatch(/uid: /)
      expect(await kubectl.refused(`get cm ${name} ${N}`)).toContain('NotFound')
    })

    test.concurrent('a token for a service account is good for asking who one is', async () => {
      const name = fresh('robot')
      await kubectl.ok(`create sa ${name} ${N}`)
      const token = (await kubectl.ok(`create token ${name} ${N} --duration=20m`)).trim()
      // a client certificate would win over the token
      const bare = join(dirname(server.kubeconfig), fresh('bare'))
      await kubectl.ok('config view --minify --raw -o json').then((text) => {
        const config = JSON.parse(text) as { users: { user: unknown }[] }
        for (const u of config.users) u.user = { token }
        writeFileSync(bare, JSON.stringify(config), { mode: 0o600 })
      })
      const who = await kubectl.ok('auth whoami -o jsonpath={.status.userInfo.username}', [], {
        env: { KUBECONFIG: bare },
      })
      expect(who).toBe(`system:serviceaccount:${NS}:${name}`)
    })

    test.concurrent('an invalid object is refused with its field', async () => {
      const stdin = JSON.stringify({ ...pod('bad'), spec: { containers: [] } })
      expect(await kubectl.refused(`create -f - ${N}`, [], { stdin })).toMatch(/spec.containers: Required value/)
    })
  })

  describe('apply on the client side', () => {
    test.concurrent('created, unchanged, configured; a field that goes from the manifest goes', async () => {
      const name = fresh('cs')
      expect(await kubectl.apply([configMap(name, { a: '1', b: '2' })], N)).toContain('created')
      expect(await kubectl.apply([configMap(name, { a: '1', b: '2' })], N)).toContain('unchanged')
      await kubectl.ok(`patch cm ${name} ${N} --type=merge -p`, ['{"data":{"other":"kept"}}'])
      expect(await kubectl.apply([configMap(name, { a: '3' })], N)).toContain('configured')
      expect((await read('cm', name)).data).toEqual({ a: '3', other: 'kept' })
    })

    test.concurrent('lists with a key are merged by it', async () => {
      const name = fresh('cs')
      const two = deployment(name)
      const { spec } = two.spec.template
      const containers = [...spec.containers, { name: 'side', image: 'side:1' }]
      await kubectl.apply(
        [{ ...two, spec: { ...two.spec, template: { ...two.spec.template, spec: { containers } } } }],
        N,
      )
      await kubectl.apply([deployment(name)], N)
      const images = await kubectl.ok(`get deploy ${name} ${N} -o jsonpath={.spec.template.spec.containers[*].image}`)
      expect(images).toBe('img:1')
    })

    test.concurrent('an unknown field is refused before it is sent', async () => {
      const stdin = documents([{ ...configMap(fresh('cs')), dta: { a: '1' } }])
      expect(await kubectl.refused(`apply -f - ${N}`, [], { stdin })).toMatch(
        /unknown field "dta"|unknown field "dta" in/,
      )
    })

    test.concurrent('and of a single object by the server', async () => {
      const stdin = JSON.stringify({ ...deployment(fresh('cs')), spec: { ...deployment('x').spec, replcas: 1 } })
      expect(await kubectl.refused(`apply -f - ${N}`, [], { stdin })).toContain('unknown field "spec.replcas"')
    })

    test.concurrent('without validation it is dropped', async () => {
      const name = fresh('cs')
      const stdin = JSON.stringify({ ...configMap(name, { a: '1' }), dta: {} })
      await kubectl.ok(`apply -f - ${N} --validate=false`, [], { stdin })
      expect(Object.keys(await read('cm', name))).not.toContain('dta')
    })

    test.concurrent('with a warning where fieldValidation is Warn', async () => {
      const stdin = JSON.stringify({ ...configMap(fresh('cs')), dta: {} })
      const { code, err } = await kubectl.run(`apply -f - ${N} --validate=warn`, [], { stdin })
      expect({ code, err }).toEqual({ code: 0, err: 'Warning: unknown field "dta"\n' })
    })

    test.concurrent('what a list holds is applied in its order', async () => {
      const name = fresh('list')
      const out = await kubectl.apply(
        [{ apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name } }, configMap(name), deployment(name)],
        N,
      )
      expect(out.split('\n').slice(0, 3)).toEqual([
        `serviceaccount/${name} created`,
        `configmap/${name} created`,
        `deployment.apps/${name} created`,
      ])
    })

    test.concurrent('prune removes what the manifests no longer have', async () => {
      const label = fresh('pruned')
      const labels = { labels: { set: label } }
      await kubectl.apply([configMap(`${label}-a`, {}, labels), configMap(`${label}-b`, {}, labels)], N)
      const out = await kubectl.apply(
        [configMap(`${label}-a`, {}, labels)],
        `${N} -l set=${label} --prune --prune-allowlist=core/v1/ConfigMap`,
      )
      expect(out).toContain(`configmap/${label}-b pruned`)
      expect(await kubectl.ok(`get cm ${N} -l set=${label} -o name`)).toBe(`configmap/${label}-a\n`)
    })
  })

  describe('apply on the server side', () => {
    test.concurrent('applied, then owned field by field', async () => {
      const name = fresh('ssa')
      const out = await kubectl.apply([configMap(name, { a: '1' })], `${N} --server-side --field-manager=one`)
      expect(out).toContain('serverside-applied')
      const { managedFields = [] } = (await read('cm', name)).metadata
      expect(managedFields.map((m) => [m.manager, m.operation, m.fieldsV1])).toEqual([
        ['one', 'Apply', { 'f:data': { 'f:a': {} } }],
      ])
    })

    test.concurrent('a conflict names the owner, and force takes the field', async () => {
      const name = fresh('ssa')
      await kubectl.apply([configMap(name, { a: '1' })], `${N} --server-side --field-manager=one`)
      const stdin = documents([configMap(name, { a: '2' })])
      const refused = await kubectl.refused(`apply -f - ${N} --server-side --field-manager=two`, [], { stdin })
      expect(refused).toMatch(/conflict with "one": \.data\.a/)
      await kubectl.ok(`apply -f - ${N} --server-side --field-manager=two --force-conflicts`, [], { stdin })
      expect((await read('cm', name)).data).toEqual({ a: '2' })
    })

    test.concurrent('a field that its only owner gives up goes', async () => {
      const name = fresh('ssa')
      await kubectl.apply([configMap(name, { a: '1', b: '2' })], `${N} --server-side`)
      await kubectl.apply([configMap(name, { a: '1' })], `${N} --server-side`)
      expect((await read('cm', name)).data).toEqual({ a: '1' })
    })

    test.concurrent('taking over from client-side apply moves the fields', async () => {
      const name = fresh('ssa')
      await kubectl.apply([configMap(name, { a: '1', b: '2' })], N)
      await kubectl.apply([configMap(name, { a: '1' })], `${N} --server-side`)
      const { data, metadata } = await read('cm', name)
      expect(data).toEqual({ a: '1' })
      expect(metadata.managedFields?.map((m) => `${m.manager} ${m.operation}`)).toContain('kubectl Apply')
    })

    test.concurrent('an unknown field is refused by the server', async () => {
      const stdin = documents([{ ...configMap(fresh('ssa')), dta: {} }])
      expect(await kubectl.refused(`apply -f - ${N} --server-side`, [], { stdin })).toMatch(
        /dta.*(not declared|unknown field)|unknown field "dta"/,
      )
    })

    test.concurrent('a dry run stores nothing', async () => {
      const name = fresh('ssa')
      await kubectl.apply([configMap(name)], `${N} --server-side --dry-run=server`)
      expect(await kubectl.refused(`get cm ${name} ${N}`)).toContain('NotFound')
    })
  })

  describe('diff', () => {
    test.concurrent('ends with 1 and shows what would change; after applying, with 0 and nothing', async () => {
      const name = fresh('diff')
      await kubectl.apply([configMap(name, { a: 'before' })], N)
      const stdin = documents([configMap(name, { a: 'after' })])
      const { code, out } = await kubectl.run(`diff -f - ${N}`, [], { stdin })
      expect(code).toBe(1)
      expect(out).toMatch(/-\s+a: before\n\+\s+a: after/)
      await kubectl.ok(`apply -f - ${N}`, [], { stdin })
      expect(await kubectl.run(`diff -f - ${N}`, [], { stdin })).toMatchObject({ code: 0, out: '' })
    })

    test.concurrent('on the server side too', async () => {
      const name = fresh('diff')
      const stdin = documents([configMap(name, { a: 'new' })])
      expect((await kubectl.run(`diff -f - ${N} --server-side`, [], { stdin })).out).toMatch(/\+\s+a: new/)
    })
  })

  describe('change', () => {
    test.concurrent('edit stores what the editor leaves', async () => {
      const name = fresh('edit')
      await kubectl.apply([configMap(name, { mode: 'slow' })], N)
      expect(await kubectl.ok(`edit cm ${name} ${N}`, [], { env: editor('s/mode: slow/mode: fast/') })).toContain(
        'edited',
      )
      expect((await read('cm', name)).data).toEqual({ mode: 'fast' })
    })

    test.concurrent('edit without a change says so', async () => {
      const name = fresh('edit')
      await kubectl.apply([configMap(name)], N)
      const { code, out, err } = await kubectl.run(`edit cm ${name} ${N}`, [], { env: editor('s/nothing/else/') })
      expect(code).toBe(0)
      expect(out + err).toContain('no changes made')
    })

    test.concurrent.each([
      ['strategic', '{"spec":{"template":{"spec":{"containers":[{"name":"side","image":"s"}]}}}}', 'side main'],
      ['merge', '{"spec":{"template":{"spec":{"containers":[{"name":"side","image":"s"}]}}}}', 'side'],
      ['json', '[{"op":"replace","path":"/spec/template/spec/containers/0/name","value":"renamed"}]', 'renamed'],
    ])('patch of type %s', async (type, patch, expected) => {
      const name = fresh('patch')
      await kubectl.apply([deployment(name)], N)
      expect(await kubectl.ok(`patch deploy ${name} ${N} --type=${type} -p`, [patch])).toContain('patched')
      expect(await kubectl.ok(`get deploy ${name} ${N} -o jsonpath={.spec.template.spec.containers[*].name}`)).toBe(
        expected,
      )
    })

    test.concurrent('a patch that changes nothing says so', async () => {
      const name = fresh('patch')
      await kubectl.apply([configMap(name, { a: '1' })], N)
      expect(await kubectl.ok(`patch cm ${name} ${N} -p`, ['{"data":{"a":"1"}}'])).toContain('patched (no change)')
    })

    test.concurrent('a patch of the status leaves the rest', async () => {
      const name = fresh('patch')
      await kubectl.apply([pod(name)], N)
      await kubectl.ok(`patch pod ${name} ${N} --subresource=status --type=merge -p`, [
        '{"status":{"phase":"Running"},"metadata":{"labels":{"x":"y"}}}',
      ])
      expect(await kubectl.ok(`get pod ${name} ${N} -o jsonpath={.status.phase}`)).toBe('Running')
    })

    test.concurrent('replace puts a whole object in the place of another', async () => {
      const name = fresh('replace')
      await kubectl.apply([configMap(name, { a: '1', b: '2' })], N)
      await kubectl.ok(`replace -f - ${N}`, [], { stdin: documents([configMap(name, { c: '3' })]) })
      expect((await read('cm', name)).data).toEqual({ c: '3' })
    })

    test.concurrent('replace with an old version is a conflict', async () => {
      const name = fresh('replace')
      await kubectl.apply([configMap(name)], N)
      const old = await read('cm', name)
      await kubectl.ok(`label cm ${name} ${N} a=b`)
      const stdin = JSON.stringify(old)
      expect(await kubectl.refused(`replace -f - ${N}`, [], { stdin })).toMatch(
        /Conflict.*the object has been modified/,
      )
    })

    test.concurrent('replace by force is another object of that name', async () => {
      const name = fresh('replace')
      await kubectl.apply([configMap(name)], N)
      const { uid } = (await read('cm', name)).metadata
      await kubectl.ok(`replace --force -f - ${N}`, [], { stdin: documents([configMap(name)]) })
      expect((await read('cm', name)).metadata.uid).not.toBe(uid)
    })

    test.concurrent('label and annotate: set, refuse to overwrite, overwrite, remove', async () => {
      const name = fresh('label')
      await kubectl.apply([configMap(name)], N)
      await kubectl.ok(`label cm ${name} ${N} a=1 b=2`)
      expect(await kubectl.refused(`label cm ${name} ${N} a=3`)).toContain("'a' already has a value (1)")
      await kubectl.ok(`label cm ${name} ${N} a=3 b- --overwrite`)
      await kubectl.ok(`annotate cm ${name} ${N}`, ['note=two words'])
      const { labels, annotations } = (await read('cm', name)).metadata
      expect({ labels, note: annotations?.['note'] }).toEqual({ labels: { a: '3' }, note: 'two words' })
    })

    test.concurrent('a wrong label is refused', async () => {
      const name = fresh('label')
      await kubectl.apply([configMap(name)], N)
      expect(await kubectl.refused(`label cm ${name} ${N} a=not/valid`)).toMatch(/invalid label value|Invalid value/)
    })

    test.concurrent('scale, also only from a size that was seen', async () => {
      const name = fresh('scale')
      await kubectl.apply([deployment(name, 2)], N)
      expect(await kubectl.ok(`scale deploy ${name} ${N} --replicas=5 --current-replicas=2`)).toContain('scaled')
      expect(await kubectl.refused(`scale deploy ${name} ${N} --replicas=6 --current-replicas=2`)).toContain(
        'Expected replicas to be 2, was 5',
      )
      expect(await kubectl.ok(`get deploy ${name} ${N} -o jsonpath={.spec.replicas}`)).toBe('5')
    })

    test.concurrent('set image, set env, expose', async () => {
      const name = fresh('set')
      await kubectl.apply([deployment(name)], N)
      await kubectl.ok(`set image deploy/${name} main=img:2 ${N}`)
      await kubectl.ok(`set env deploy/${name} MODE=fast ${N}`)
      await kubectl.ok(`expose deploy ${name} --port=80 ${N}`)
      const { spec } = await kubectl.json<{ spec: { template: { spec: { containers: unknown[] } } } }>(
        `get deploy ${name} ${N}`,
      )
      expect(spec.template.spec.containers).toMatchObject([{ image: 'img:2', env: [{ name: 'MODE', value: 'fast' }] }])
      expect(await kubectl.ok(`get svc ${name} ${N} -o jsonpath={.spec.selector.app}`)).toBe(name)
    })

    test.concurrent('rollout status follows what the controller of a deployment reports', async () => {
      const name = fresh('roll')
      await kubectl.apply([deployment(name, 2)], N)
      const status = { observedGeneration: 1, replicas: 2, updatedReplicas: 2, readyReplicas: 2, availableReplicas: 2 }
      const waiting = kubectl.ok(`rollout status deploy/${name} ${N} --timeout=30s`)
      await kubectl.ok(`patch deploy ${name} ${N} --subresource=status --type=merge -p`, [JSON.stringify({ status })])
      expect(await waiting).toContain('successfully rolled out')
    })

    test.concurrent('rollout restart stamps the template', async () => {
      const name = fresh('roll')
      await kubectl.apply([deployment(name)], N)
      await kubectl.ok(`rollout restart deploy/${name} ${N}`)
      expect(await kubectl.ok(`get deploy ${name} ${N} -o jsonpath={.spec.template.metadata.annotations}`)).toContain(
        'restartedAt',
      )
    })
  })

  describe('delete and wait', () => {
    test.concurrent('a deletion is waited for', async () => {
      const name = fresh('del')
      await kubectl.apply([configMap(name)], N)
      expect(await kubectl.ok(`delete cm ${name} ${N} --wait`)).toContain(`configmap "${name}" deleted`)
      expect(await kubectl.ok(`get cm ${name} ${N} --ignore-not-found`)).toBe('')
    })

    test.concurrent('one that is not there is an error, or none with --ignore-not-found', async () => {
      expect(await kubectl.refused(`delete cm nothing ${N}`)).toContain('NotFound')
      expect(await kubectl.ok(`delete cm nothing ${N} --ignore-not-found`)).toBe('')
    })

    test.concurrent('a finalizer holds it until it is taken away', async () => {
      const name = fresh('del')
      await kubectl.apply([configMap(name, {}, { finalizers: ['example.org/hold'] })], N)
      const deleting = kubectl.ok(`delete cm ${name} ${N} --wait --timeout=30s`)
      await kubectl.ok(`wait cm/${name} ${N} --for=jsonpath={.metadata.deletionTimestamp} --timeout=20s`)
      await kubectl.ok(`patch cm ${name} ${N} --type=merge -p`, ['{"metadata":{"finalizers":null}}'])
      expect(await deleting).toContain('deleted')
    })

    test.concurrent('without waiting it is only marked', async () => {
      const name = fresh('del')
      await kubectl.apply([configMap(name, {}, { finalizers: ['example.org/hold'] })], N)
      await kubectl.ok(`delete cm ${name} ${N} --wait=false`)
      expect((await read('cm', name)).metadata.deletionTimestamp).toMatch(/^\d{4}-/)
      await kubectl.ok(`patch cm ${name} ${N} --type=json -p`, ['[{"op":"remove","path":"/metadata/finalizers"}]'])
    })

    test.concurrent('by label, all of a kind, from a file', async () => {
      const label = fresh('many')
      const all = ['a', 'b', 'c'].map((x) => configMap(`${label}-${x}`, {}, { labels: { set: label, x } }))
      await kubectl.apply(all, N)
      await kubectl.ok(`delete cm ${N} -l set=${label},x=a`)
      await kubectl.ok(`delete -f - ${N}`, [], { stdin: documents(all.slice(1, 2)) })
      expect(await kubectl.ok(`get cm ${N} -l set=${label} -o name`)).toBe(`configmap/${label}-c\n`)
    })

    test.concurrent('at once, without grace', async () => {
      const name = fresh('now')
      await kubectl.apply([{ ...pod(name), spec: { ...pod(name).spec, nodeName: 'far-away' } }], N)
      await kubectl.ok(`delete pod ${name} ${N} --force --grace-period=0`)
      expect(await kubectl.ok(`get pod ${name} ${N} --ignore-not-found`)).toBe('')
    })

    test.concurrent('wait for a condition', async () => {
      const name = fresh('wait')
      await kubectl.apply([pod(name)], N)
      const waiting = kubectl.ok(`wait pod/${name} ${N} --for=condition=Ready --timeout=30s`)
      await kubectl.ok(`patch pod ${name} ${N} --subresource=status --type=merge -p`, [
        '{"status":{"conditions":[{"type":"Ready","status":"True"}]}}',
      ])
      expect(await waiting).toContain('condition met')
    })

    test.concurrent('wait for a value', async () => {
      const name = fresh('wait')
      await kubectl.apply([configMap(name, { step: 'one' })], N)
      const waiting = kubectl.ok(`wait cm/${name} ${N} --for=jsonpath={.data.step}=two --timeout=30s`)
      await kubectl.ok(`patch cm ${name} ${N} -p`, ['{"data":{"step":"two"}}'])
      expect(await waiting).toContain('condition met')
    })

    test.concurrent('wait for the end', async () => {
      const name = fresh('wait')
      await kubectl.apply([configMap(name)], N)
      const waiting = kubectl.run(`wait cm/${name} ${N} --for=delete --timeout=30s`)
      await kubectl.ok(`delete cm ${name} ${N}`)
      // Which of the two programs reaches the server first is not ours to say: one that comes late has nothing to wait for and says nothing.
      const { out, err } = await waiting
      expect(out + err).toMatch(/condition met|not found|^$/)
    })

    test.concurrent('wait gives up in time', async () => {
      const name = fresh('wait')
      await kubectl.apply([pod(name)], N)
      expect(await kubectl.refused(`wait pod/${name} ${N} --for=condition=Ready --timeout=1s`)).toContain(
        'timed out waiting',
      )
    })

    const owned = (owner: KubeObject, name: string, block = true) =>
      configMap(
        name,
        {},
        {
          ownerReferences: [
            {
              apiVersion: 'v1',
              kind: 'ConfigMap',
              name: owner.metadata.name,
              uid: owner.metadata.uid,
              blockOwnerDeletion: block,
            },
          ],
        },
      )
    const family = async (): Promise<string> => {
      const name = fresh('owner')
      await kubectl.apply([configMap(name)], N)
      await kubectl.apply([owned(await read('cm', name), `${name}-child`)], N)
      return name
    }
    // a loop of a controller manager deletes dependents
    const cascades = hasLoops ? ['background', 'foreground'] : []
    for (const cascade of cascades)
      test.concurrent(`cascade ${cascade} takes what is owned along`, async () => {
        const name = await family()
        await kubectl.ok(`delete cm ${name} ${N} --cascade=${cascade} --wait --timeout=30s`)
        await kubectl.ok(`wait cm/${name}-child ${N} --for=delete --timeout=30s`)
        expect(await kubectl.ok(`get cm ${name} ${name}-child ${N} --ignore-not-found`)).toBe('')
      })
    if (hasLoops) {
      test.concurrent('cascade orphan lets what is owned go free', async () => {
        const name = await family()
        await kubectl.ok(`delete cm ${name} ${N} --cascade=orphan --wait --timeout=30s`)
        expect((await read('cm', `${name}-child`)).metadata.ownerReferences).toBeUndefined()
      })

      test.concurrent('a namespace goes with all that is in it', async () => {
        const name = fresh('ns')
        await kubectl.ok(`create namespace ${name}`)
        await kubectl.apply([configMap('inside'), deployment('inside'), pod('inside')], `-n ${name}`)
        await kubectl.ok(`delete namespace ${name} --wait --timeout=30s`)
        expect(await kubectl.refused(`get namespace ${name}`)).toContain('NotFound')
        expect(await kubectl.ok(`get cm,deploy,pod -n ${name} -o name`)).toBe('')
      })
    }
  })
})
