// What a kube-apiserver 1.36 makes of pods beside storing them: defaults of limit ranges, containers that are added later, and the
// security level of a namespace. Words and rules are those of its own sources.
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { apiServers, type RunningServer } from '#test/support/servers/api-servers.ts'
import { type Body, type Reply, Requests } from '#test/support/servers/api-requests.ts'
import { fresh } from '#test/support/tools/kubectl.ts'

type Fields = Readonly<Record<string, unknown>>
const said = ({ code, body }: Reply): readonly [number, string] => [code, body.message ?? '']
const has = (text: string): unknown => expect.stringContaining(text)
const specOf = (o: unknown): Fields => (o as { readonly spec: Fields }).spec
const LABEL = 'pod-security.kubernetes.io/'

describe.each(apiServers)('pods on $name', ({ start }) => {
  let server: RunningServer
  let api: Requests
  beforeAll(async () => {
    server = await start()
    api = new Requests(server)
  })
  afterAll(async () => {
    api.close()
    await server.stop()
  })
  const inside = (namespace: string, plural: string) => `/api/v1/namespaces/${namespace}/${plural}`
  const space = (labels: Readonly<Record<string, string>> = {}): Promise<string> => api.namespace('pods', labels)
  /** A pod as small as can be; `automountServiceAccountToken` keeps admission of service accounts away. */
  const podSpec = (more: object = {}, container: object = {}) => ({
    automountServiceAccountToken: false,
    containers: [{ name: 'main', image: 'i:1', ...container }],
    ...more,
  })

  describe('limit ranges', () => {
    const range = (name: string, limits: readonly object[]) => ({ metadata: { name }, spec: { limits } })
    test.concurrent.each<[string, object, object]>([
      [
        'a most is a limit and a request',
        { max: { cpu: '2' } },
        { max: { cpu: '2' }, default: { cpu: '2' }, defaultRequest: { cpu: '2' } },
      ],
      ['a least is a request', { min: { cpu: '100m' } }, { min: { cpu: '100m' }, defaultRequest: { cpu: '100m' } }],
      [
        'what is said is kept',
        {
          max: { cpu: '2', memory: '2Gi' },
          min: { cpu: '1' },
          default: { cpu: '1500m' },
          defaultRequest: { memory: '1Gi' },
        },
        {
          max: { cpu: '2', memory: '2Gi' },
          min: { cpu: '1' },
          default: { cpu: '1500m', memory: '2Gi' },
          defaultRequest: { cpu: '1500m', memory: '1Gi' },
        },
      ],
    ])('%s', async (_, item, expected) => {
      const path = inside(await space(), 'limitranges')
      const made = await api.made(path, range('r', [{ type: 'Container', ...item }]))
      expect(specOf(made)['limits']).toEqual([{ type: 'Container', ...expected }])
    })
    test.concurrent('of pods have no defaults', async () => {
      const item = { type: 'Pod', max: { cpu: '2' } }
      const made = await api.made(inside(await space(), 'limitranges'), range('r', [item]))
      expect(specOf(made)['limits']).toEqual([item])
    })
    test.concurrent('fill in what containers do not say, and tell so', async () => {
      const name = await space()
      const item = { type: 'Container', default: { cpu: '500m', memory: '256Mi' }, defaultRequest: { cpu: '100m' } }
      await api.made(inside(name, 'limitranges'), range('r', [item]))
      const spec = podSpec({
        initContainers: [{ name: 'first', image: 'i:1' }],
        containers: [
          { name: 'silent', image: 'i:1' },
          { name: 'partly', image: 'i:1', resources: { limits: { cpu: '1' }, requests: { cpu: '1' } } },
          { name: 'wholly', image: 'i:1', resources: { limits: { cpu: '1', memory: '1Gi' } } },
        ],
      })
      const filled = { limits: { cpu: '500m', memory: '256Mi' }, requests: { cpu: '100m', memory: '256Mi' } }
      // a real server learns of a range a moment later
      const made = await vi.waitFor(async () => {
        const pod = await api.made(inside(name, 'pods'), { metadata: { name: fresh('p') }, spec })
        expect(pod.metadata.annotations).toBeDefined()
        return pod
      }, 60_000)
      const resources = (list: string) => (specOf(made)[list] as readonly Fields[]).map((c) => c['resources'])
      expect(resources('initContainers')).toEqual([filled])
      expect(resources('containers')).toEqual([
        filled,
        { limits: { cpu: '1', memory: '256Mi' }, requests: { cpu: '1', memory: '256Mi' } },
        { limits: { cpu: '1', memory: '1Gi' }, requests: { cpu: '1', memory: '1Gi' } },
      ])
      expect(made.metadata.annotations).toEqual({
        'kubernetes.io/limit-ranger':
          'LimitRanger plugin set: cpu, memory request for container silent; cpu, memory limit for container silent; memory request for container partly; memory limit for container partly; cpu, memory request for init container first; cpu, memory limit for init container first',
      })
      expect((made as Body & { readonly status: Fields }).status['qosClass']).toBe('Burstable')
    })
    test.concurrent('of another namespace do nothing', async () => {
      const item = { type: 'Container', default: { cpu: '500m' } }
      await api.made(inside(await space(), 'limitranges'), range('r', [item]))
      const made = await api.made(inside(await space(), 'pods'), { metadata: { name: 'p' }, spec: podSpec() })
      expect([made.metadata.annotations, (specOf(made)['containers'] as readonly Fields[])[0]?.['resources']]).toEqual([
        undefined,
        {},
      ])
    })
  })

  describe('ephemeral containers', () => {
    let namespace = ''
    beforeAll(async () => {
      namespace = await space()
    })
    const pod = async (): Promise<string> => {
      const name = fresh('p')
      await api.made(inside(namespace, 'pods'), { metadata: { name }, spec: podSpec() })
      return `${inside(namespace, 'pods')}/${name}`
    }
    const adding = (...containers: readonly object[]) => ({ spec: { ephemeralContainers: containers } })
    const debug = { name: 'debug', image: 'busybox:1', targetContainerName: 'main', stdin: true, tty: true }
    const namesIn = (body: unknown) =>
      ((specOf(body)['ephemeralContainers'] ?? []) as readonly Fields[]).map((c) => c['name'])

    test.concurrent('are added by a strategic patch, as kubectl debug sends it, and nothing else is', async () => {
      const at = await pod()
      const patch = { metadata: { labels: { a: 'b' } }, spec: { ...adding(debug).spec, hostNetwork: true } }
      const { code, body } = await api.patch('strategic', `${at}/ephemeralcontainers`, patch)
      expect([code, body.kind, body.metadata.labels, specOf(body)['hostNetwork']]).toEqual([
        200,
        'Pod',
        undefined,
        undefined,
      ])
      expect(specOf(body)['ephemeralContainers']).toEqual([
        {
          ...debug,
          resources: {},
          terminationMessagePath: '/dev/termination-log',
          terminationMessagePolicy: 'File',
          imagePullPolicy: 'IfNotPresent',
        },
      ])
      expect([body.metadata.generation, namesIn((await api.get(`${at}/ephemeralcontainers`)).body)]).toEqual([
        2,
        ['debug'],
      ])
      const more = await api.patch('strategic', `${at}/ephemeralcontainers`, adding({ name: 'two', image: 'i' }))
      expect(new Set(namesIn(more.body))).toEqual(new Set(['debug', 'two']))
      const owners = (more.body.metadata.managedFields ?? []).filter((m) => m.subresource === 'ephemeralcontainers')
      expect(JSON.stringify(owners)).toContain('f:ephemeralContainers')
    })
    test.concurrent('are added by a PUT', async () => {
      const at = await pod()
      const { body } = await api.get(`${at}/ephemeralcontainers`)
      const whole = { ...body, spec: { ...specOf(body), ...adding(debug).spec, hostPID: true } }
      const put = await api.put(`${at}/ephemeralcontainers`, whole)
      expect([put.code, namesIn(put.body), specOf(put.body)['hostPID']]).toEqual([200, ['debug'], undefined])
    })
    test.concurrent.each<[string, readonly object[], string]>([
      ['removed', [], 'spec.ephemeralContainers: Forbidden: existing ephemeral containers "debug" may not be removed'],
      [
        'changed',
        [{ ...debug, image: 'other:1' }],
        'spec.ephemeralContainers: Forbidden: existing ephemeral containers "debug" may not be changed',
      ],
      [
        'joined by one of the same name as a container',
        [debug, { name: 'main', image: 'i' }],
        'spec.ephemeralContainers[1].name: Duplicate value: "main"',
      ],
      [
        'joined by one that looks at a container that is not there',
        [debug, { name: 'two', image: 'i', targetContainerName: 'nobody' }],
        'spec.ephemeralContainers[1].targetContainerName: Not found: "nobody"',
      ],
      [
        'joined by one with ports',
        [debug, { name: 'two', image: 'i', ports: [{ containerPort: 80 }] }],
        'spec.ephemeralContainers[1].ports: Forbidden: cannot be set for an Ephemeral Container',
      ],
      [
        'joined by one with limits',
        [debug, { name: 'two', image: 'i', resources: { limits: { cpu: '1' } } }],
        'spec.ephemeralContainers[1].resources: Forbidden: cannot be set for an Ephemeral Container',
      ],
      ['joined by one without an image', [debug, { name: 'two' }], 'spec.ephemeralContainers[1].image: Required value'],
    ])('may not be %s', async (_, containers, message) => {
      const at = await pod()
      expect((await api.patch('strategic', `${at}/ephemeralcontainers`, adding(debug))).code).toBe(200)
      const reply = await api.patch('merge', `${at}/ephemeralcontainers`, adding(...containers))
      expect(said(reply)).toEqual([422, has(message)])
    })
    test.concurrent('are not part of a pod that is made, nor of a change of the pod', async () => {
      const spec = podSpec(adding(debug).spec)
      expect(said(await api.post(inside(namespace, 'pods'), { metadata: { name: fresh('p') }, spec }))).toEqual([
        422,
        has('spec.ephemeralContainers: Forbidden: cannot be set on create'),
      ])
      expect(said(await api.patch('merge', await pod(), adding(debug)))).toEqual([
        422,
        has('spec: Forbidden: pod updates may not change fields other than'),
      ])
    })
    test.concurrent('of a pod that is not there', async () => {
      const at = `${inside(namespace, 'pods')}/nobody/ephemeralcontainers`
      for (const reply of [await api.get(at), await api.patch('strategic', at, adding(debug))])
        expect(said(reply)).toEqual([404, 'pods "nobody" not found'])
      expect((await api.post(at, {})).code).toBe(405)
    })
    test.concurrent('are discovered', async () => {
      const { body } = await api.get('/api/v1')
      const found = (body['resources'] as readonly Fields[]).find((r) => r['name'] === 'pods/ephemeralcontainers')
      expect(found).toEqual({
        name: 'pods/ephemeralcontainers',
        singularName: '',
        namespaced: true,
        kind: 'Pod',
        verbs: ['get', 'patch', 'update'],
      })
    })
  })

  describe('security levels', () => {
    const strict = {
      allowPrivilegeEscalation: false,
      capabilities: { drop: ['ALL'] },
      runAsNonRoot: true,
      seccompProfile: { type: 'RuntimeDefault' },
    }
    const spaces = new Map<string, Promise<string>>()
    /** One namespace for each set of labels. */
    const withLabels = (labels: Readonly<Record<string, string>>): Promise<string> => {
      const key = JSON.stringify(labels)
      const known = spaces.get(key) ?? space(Object.fromEntries(Object.entries(labels).map(([k, v]) => [LABEL + k, v])))
      spaces.set(key, known)
      return known
    }
    const create = async (labels: Readonly<Record<string, string>>, spec: object, metadata: object = {}) => {
      const name = fresh('p')
      const path = inside(await withLabels(labels), 'pods')
      // a real server learns of a namespace a moment later
      return { name, reply: await api.post(path, { metadata: { name, ...metadata }, spec }) }
    }

    const BASELINE: readonly [what: string, spec: object, detail: string][] = [
      ['the network of its host', podSpec({ hostNetwork: true }), 'host namespaces (hostNetwork=true)'],
      [
        'the processes and memory of its host',
        podSpec({ hostPID: true, hostIPC: true }),
        'host namespaces (hostPID=true, hostIPC=true)',
      ],
      [
        'all rights',
        podSpec({}, { securityContext: { privileged: true } }),
        'privileged (container "main" must not set securityContext.privileged=true)',
      ],
      [
        'all rights in two containers, in their order of starting',
        podSpec(
          { initContainers: [{ name: 'zero', image: 'i', securityContext: { privileged: true } }] },
          { securityContext: { privileged: true } },
        ),
        'privileged (containers "zero", "main" must not set securityContext.privileged=true)',
      ],
      [
        'more capabilities',
        podSpec({}, { securityContext: { capabilities: { add: ['SYS_ADMIN', 'KILL', 'NET_ADMIN'] } } }),
        'non-default capabilities (container "main" must not include "NET_ADMIN", "SYS_ADMIN" in securityContext.capabilities.add)',
      ],
      [
        'files of its host',
        podSpec({
          volumes: [
            { name: 'etc', hostPath: { path: '/etc' } },
            { name: 'ok', emptyDir: {} },
          ],
        }),
        'hostPath volumes (volume "etc")',
      ],
      [
        'ports of its host',
        podSpec(
          {},
          {
            ports: [
              { containerPort: 80, hostPort: 8080 },
              { containerPort: 81, hostPort: 443 },
            ],
          },
        ),
        'hostPort (container "main" uses hostPorts 443, 8080)',
      ],
      [
        'a probe of another host',
        podSpec(
          {},
          {
            livenessProbe: { tcpSocket: { port: 1, host: '10.0.0.1' } },
            lifecycle: { preStop: { httpGet: { port: 1, path: '/', host: 'x' } } },
          },
        ),
        'probe or lifecycle host (container "main" uses probe or lifecycle hosts "10.0.0.1", "x")',
      ],
      [
        'no system call filter',
        podSpec(
          { securityContext: { seccompProfile: { type: 'Unconfined' } } },
          { securityContext: { seccompProfile: { type: 'Unconfined' } } },
        ),
        'seccompProfile (pod and container "main" must not set securityContext.seccompProfile.type to "Unconfined")',
      ],
      [
        'no AppArmor',
        podSpec({ securityContext: { appArmorProfile: { type: 'Unconfined' } } }),
        'forbidden AppArmor profile (pod must not set AppArmor profile type to "Unconfined")',
      ],
      [
        'an SELinux user and type',
        podSpec({}, { securityContext: { seLinuxOptions: { type: 'spc_t', user: 'u' } } }),
        'seLinuxOptions (container "main" set forbidden securityContext.seLinuxOptions: type "spc_t"; user may not be set)',
      ],
      [
        'settings of the kernel',
        podSpec({
          securityContext: {
            sysctls: [
              { name: 'net.core.somaxconn', value: '1' },
              { name: 'net.ipv4.tcp_rmem', value: '1' },
              { name: 'kernel.msgmax', value: '1' },
            ],
          },
        }),
        'forbidden sysctls (net.core.somaxconn, kernel.msgmax)',
      ],
      [
        'several at once, in one order',
        podSpec({ hostPID: true }, { securityContext: { privileged: true, capabilities: { add: ['SYS_TIME'] } } }),
        'non-default capabilities (container "main" must not include "SYS_TIME" in securityContext.capabilities.add), host namespaces (hostPID=true), privileged (container "main" must not set securityContext.privileged=true)',
      ],
    ]
    const RESTRICTED: readonly [what: string, spec: object, detail: string][] = [
      [
        'nothing said',
        podSpec(),
        'allowPrivilegeEscalation != false (container "main" must set securityContext.allowPrivilegeEscalation=false), unrestricted capabilities (container "main" must set securityContext.capabilities.drop=["ALL"]), runAsNonRoot != true (pod or container "main" must set securityContext.runAsNonRoot=true), seccompProfile (pod or container "main" must set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost")',
      ],
      [
        'root',
        podSpec({ securityContext: { runAsUser: 0 } }, { securityContext: { ...strict, runAsUser: 0 } }),
        'runAsUser=0 (pod and container "main" must not set runAsUser=0)',
      ],
      [
        'root by a word',
        podSpec({ securityContext: { runAsNonRoot: true } }, { securityContext: { ...strict, runAsNonRoot: false } }),
        'runAsNonRoot != true (container "main" must not set securityContext.runAsNonRoot=false)',
      ],
      [
        'a capability beside the one that is allowed',
        podSpec(
          {},
          { securityContext: { ...strict, capabilities: { drop: ['ALL'], add: ['NET_BIND_SERVICE', 'CHOWN'] } } },
        ),
        'unrestricted capabilities (container "main" must not include "CHOWN" in securityContext.capabilities.add)',
      ],
      [
        'volumes from elsewhere',
        podSpec(
          {
            volumes: [
              { name: 'share', nfs: { server: 's', path: '/' } },
              { name: 'etc', hostPath: { path: '/etc' } },
            ],
          },
          { securityContext: strict },
        ),
        'restricted volume types (volumes "share", "etc" use restricted volume types "hostPath", "nfs")',
      ],
      [
        'no system call filter',
        podSpec({}, { securityContext: { ...strict, seccompProfile: { type: 'Unconfined' } } }),
        'seccompProfile (container "main" must not set securityContext.seccompProfile.type to "Unconfined")',
      ],
      [
        'what the baseline refuses',
        podSpec({ hostNetwork: true }, { securityContext: strict }),
        'host namespaces (hostNetwork=true)',
      ],
    ]
    const refused = (level: string, rows: typeof BASELINE) =>
      rows.map(([what, spec, detail]) => [level, what, spec, detail] as const)

    test.concurrent.each([...refused('baseline', BASELINE), ...refused('restricted', RESTRICTED)])(
      '%s refuses a pod with %s',
      async (level, _, spec, detail) => {
        const { name, reply } = await create({ enforce: level }, spec)
        expect([...said(reply), reply.body.reason]).toEqual([
          403,
          `pods "${name}" is forbidden: violates PodSecurity "${level}:latest": ${detail}`,
          'Forbidden',
        ])
        expect(reply.body['details']).toEqual({ name, kind: 'pods' })
        expect((await create({ enforce: 'privileged' }, spec)).reply.code).toBe(201)
      },
    )
    test.concurrent.each<[string, object]>([
      ['restricted', podSpec({}, { securityContext: strict })],
      [
        'restricted',
        podSpec(
          {
            securityContext: { runAsNonRoot: true, seccompProfile: { type: 'Localhost', localhostProfile: 'p' } },
            volumes: ['configMap', 'secret'].map((v) => ({
              name: v.toLowerCase(),
              [v]: v === 'secret' ? { secretName: 's' } : { name: 's' },
            })),
          },
          {
            securityContext: {
              allowPrivilegeEscalation: false,
              capabilities: { drop: ['ALL'], add: ['NET_BIND_SERVICE'] },
            },
          },
        ),
      ],
      [
        'restricted',
        podSpec({ hostUsers: false }, { securityContext: { ...strict, runAsNonRoot: false, runAsUser: 0 } }),
      ],
      ['baseline', podSpec()],
      ['baseline', podSpec({}, { securityContext: { runAsUser: 0, capabilities: { add: ['CHOWN'] } } })],
      ['baseline', podSpec({ volumes: [{ name: 'share', nfs: { server: 's', path: '/' } }] })],
    ])('%s takes %j, without a warning', async (level, spec) => {
      const { reply } = await create({ enforce: level }, spec)
      expect([...said(reply), reply.warnings]).toEqual([201, '', []])
    })
    test.concurrent('the annotations of old AppArmor count', async () => {
      const key = 'container.apparmor.security.beta.kubernetes.io/main'
      const { name, reply } = await create({ enforce: 'baseline' }, podSpec(), { annotations: { [key]: 'unconfined' } })
      expect(said(reply)).toEqual([
        403,
        has(`pods "${name}" is forbidden: violates PodSecurity "baseline:latest": forbidden AppArmor profile`),
      ])
    })
    test.concurrent('the rules of an older release are kept apart', async () => {
      const sysctl = podSpec({ securityContext: { sysctls: [{ name: 'net.ipv4.tcp_rmem', value: '1' }] } })
      const labels = { enforce: 'baseline', 'enforce-version': 'v1.30' }
      const { name, reply } = await create(labels, sysctl)
      expect(said(reply)).toEqual([
        403,
        `pods "${name}" is forbidden: violates PodSecurity "baseline:v1.30": forbidden sysctls (net.ipv4.tcp_rmem)`,
      ])
      expect((await create({ enforce: 'baseline', 'enforce-version': 'v1.99' }, sysctl)).reply.code).toBe(201)
      const probe = podSpec({}, { livenessProbe: { tcpSocket: { port: 1, host: '10.0.0.1' } } })
      expect((await create(labels, probe)).reply.code).toBe(201)
    })
    test.concurrent('a level to warn of lets pods in, and says so', async () => {
      const { reply } = await create(
        { warn: 'restricted' },
        podSpec({}, { securityContext: { ...strict, runAsUser: 0 } }),
      )
      expect([reply.code, reply.warnings]).toEqual([
        201,
        ['would violate PodSecurity "restricted:latest": runAsUser=0 (container "main" must not set runAsUser=0)'],
      ])
      const { reply: refusedReply } = await create(
        { warn: 'restricted', enforce: 'baseline' },
        podSpec({ hostPID: true }),
      )
      expect([refusedReply.code, refusedReply.warnings]).toEqual([403, []])
    })
    test.concurrent('a level to audit says nothing', async () => {
      const { reply } = await create({ audit: 'restricted' }, podSpec())
      expect([reply.code, reply.warnings]).toEqual([201, []])
    })
    test.concurrent('a dry run is judged', async () => {
      const path = `${inside(await withLabels({ enforce: 'baseline' }), 'pods')}?dryRun=All`
      expect((await api.post(path, { metadata: { name: 'dry' }, spec: podSpec({ hostPID: true }) })).code).toBe(403)
    })

    const template = (spec: object) => ({ metadata: { labels: { app: 'a' } }, spec })
    const selector = { matchLabels: { app: 'a' } }
    const job = (spec: object) => ({ template: template({ restartPolicy: 'Never', ...spec }) })
    test.concurrent.each<[string, string, (spec: object) => object]>([
      ['apps/v1', 'deployments', (s) => ({ spec: { selector, template: template(s) } })],
      ['apps/v1', 'replicasets', (s) => ({ spec: { selector, template: template(s) } })],
      ['apps/v1', 'daemonsets', (s) => ({ spec: { selector, template: template(s) } })],
      ['apps/v1', 'statefulsets', (s) => ({ spec: { selector, serviceName: 's', template: template(s) } })],
      ['batch/v1', 'jobs', (s) => ({ spec: job(s) })],
      ['batch/v1', 'cronjobs', (s) => ({ spec: { schedule: '0 0 1 1 *', jobTemplate: { spec: job(s) } } })],
      ['v1', 'podtemplates', (s) => ({ template: template(s) })],
      ['v1', 'replicationcontrollers', (s) => ({ spec: { selector: { app: 'a' }, template: template(s) } })],
    ])('of %s, %s are warned of and not refused', async (group, plural, of) => {
      const root = group === 'v1' ? '/api/v1' : `/apis/${group}`
      const path = `${root}/namespaces/${await withLabels({ enforce: 'baseline' })}/${plural}`
      const warning = 'would violate PodSecurity "baseline:latest": host namespaces (hostPID=true)'
      const made = await api.post(path, { metadata: { name: fresh('w') }, ...of(podSpec({ hostPID: true })) })
      expect([...said(made), made.warnings]).toEqual([201, '', [warning]])
      const fine = await api.post(path, { metadata: { name: fresh('w') }, ...of(podSpec()) })
      expect([...said(fine), fine.warnings]).toEqual([201, '', []])
    })
    test.concurrent('a change of what is not judged is let through; an image and an ephemeral container are judged', async () => {
      const name = await space()
      const at = `${inside(name, 'pods')}/p`
      await api.made(inside(name, 'pods'), { metadata: { name: 'p' }, spec: podSpec({ hostPID: true }) })
      await api.patch('merge', `/api/v1/namespaces/${name}`, {
        metadata: { labels: { [`${LABEL}enforce`]: 'baseline' } },
      })
      const why = 'pods "p" is forbidden: violates PodSecurity "baseline:latest": host namespaces (hostPID=true)'
      const image = { spec: { containers: [{ name: 'main', image: 'i:2' }] } }
      await vi.waitFor(async () => expect(said(await api.patch('strategic', at, image))).toEqual([403, why]), 60_000)
      const adding = { spec: { ephemeralContainers: [{ name: 'e', image: 'i' }] } }
      expect(said(await api.patch('strategic', `${at}/ephemeralcontainers`, adding))).toEqual([403, why])
      expect((await api.patch('merge', at, { metadata: { labels: { a: 'b' } } })).code).toBe(200)
      expect((await api.patch('merge', `${at}/status`, { status: { phase: 'Running' } })).code).toBe(200)
    })

    describe('of a namespace', () => {
      const labelled = (labels: Readonly<Record<string, string>>) => ({
        metadata: {
          name: fresh('ns'),
          labels: Object.fromEntries(Object.entries(labels).map(([k, v]) => [LABEL + k, v])),
        },
      })
      const rule = 'must be one of privileged, baseline, restricted'
      test.concurrent.each<[Readonly<Record<string, string>>, string]>([
        [{ enforce: 'strict' }, `metadata.labels[${LABEL}enforce]: Invalid value: "strict": ${rule}`],
        [{ warn: 'Baseline' }, `metadata.labels[${LABEL}warn]: Invalid value: "Baseline": ${rule}`],
        [{ audit: '' }, `metadata.labels[${LABEL}audit]: Invalid value: "": ${rule}`],
        [
          { 'enforce-version': '1.30' },
          `metadata.labels[${LABEL}enforce-version]: Invalid value: "1.30": must be "latest" or "v1.x"`,
        ],
        [
          { 'warn-version': 'v1.030' },
          `metadata.labels[${LABEL}warn-version]: Invalid value: "v1.030": must be "latest" or "v1.x"`,
        ],
      ])('the labels %j are refused', async (labels, message) => {
        const wanted = labelled(labels)
        expect(said(await api.post('/api/v1/namespaces', wanted))).toEqual([
          422,
          `Namespace "${wanted.metadata.name}" is invalid: ${message}`,
        ])
        const name = await space()
        const reply = await api.patch('merge', `/api/v1/namespaces/${name}`, {
          metadata: { labels: wanted.metadata.labels },
        })
        expect(said(reply)).toEqual([422, has(message)])
      })
      test.concurrent('that asks for more than its pods keep to is refused with the fields', async () => {
        const name = await space()
        for (const [pod, spec] of Object.entries({
          b: podSpec({ hostPID: true }),
          a: podSpec({ hostPID: true }),
          c: podSpec({ hostPID: true }, { securityContext: { privileged: true } }),
          fine: podSpec(),
        }))
          await api.made(inside(name, 'pods'), { metadata: { name: pod }, spec })
        const label = (more: object) => api.patch('merge', `/api/v1/namespaces/${name}`, { metadata: { labels: more } })
        const told = await label({ [`${LABEL}enforce`]: 'baseline' })
        expect([told.code, told.warnings]).toEqual([
          200,
          [
            `existing pods in namespace "${name}" violate the new PodSecurity enforce level "baseline:latest"`,
            'a (and 1 other pod): host namespaces',
            'c: host namespaces, privileged',
          ],
        ])
        expect((await label({ more: 'x' })).warnings).toEqual([])
        expect((await label({ [`${LABEL}enforce`]: 'privileged' })).warnings).toEqual([])
      })
    })
  })
})
