// kubectl as an operator of nodes uses it: cordon, drain within budgets, taints, certificates, rights of others, logs without a node.
import { eventually } from '#test/support/benches/sync-bench.ts'
import { X509Certificate } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { newPrivateKey, signingRequest } from '#lib/x509/signing-request.ts'
import { apiServers, type RunningServer } from '#test/support/servers/api-servers.ts'
import { fresh, Kubectl } from '#test/support/tools/kubectl.ts'

const NS = 'operating'
const N = `-n ${NS}`
const CLIENT_SIGNER = 'kubernetes.io/kube-apiserver-client'

const node = (name: string) => ({ apiVersion: 'v1', kind: 'Node', metadata: { name } })
const podOn = (name: string, nodeName: string, labels = {}, metadata = {}) => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name, labels, ...metadata },
  spec: { nodeName, terminationGracePeriodSeconds: 0, containers: [{ name: 'main', image: 'img:1' }] },
})
const budget = (name: string, labels: unknown, minAvailable: number) => ({
  apiVersion: 'policy/v1',
  kind: 'PodDisruptionBudget',
  metadata: { name },
  spec: { minAvailable, selector: { matchLabels: labels } },
})
const RUNNING = '{"status":{"phase":"Running","conditions":[{"type":"Ready","status":"True"}]}}'

describe.each(apiServers)('kubectl operates nodes of $name', ({ start, hasLoops }) => {
  let server: RunningServer
  let kubectl: Kubectl
  beforeAll(async () => {
    server = await start()
    kubectl = new Kubectl(server)
    await kubectl.namespace(NS)
  })
  afterAll(() => server?.stop())

  async function newNode(): Promise<string> {
    const name = fresh('node')
    await kubectl.apply([node(name)])
    return name
  }

  test.concurrent('cordon and uncordon', async () => {
    const name = await newNode()
    expect(await kubectl.ok(`cordon ${name}`)).toContain('cordoned')
    expect(await kubectl.ok(`get node ${name}`)).toContain('SchedulingDisabled')
    expect(await kubectl.ok(`cordon ${name}`)).toContain('already cordoned')
    expect(await kubectl.ok(`uncordon ${name}`)).toContain('uncordoned')
    expect(await kubectl.ok(`get node ${name} -o jsonpath={.spec.unschedulable}`)).toBe('')
  })

  test.concurrent('taint: set, refuse to overwrite, overwrite, remove', async () => {
    const name = await newNode()
    await kubectl.ok(`taint node ${name} disk=bad:NoSchedule`)
    expect(await kubectl.refused(`taint node ${name} disk=worse:NoSchedule`)).toContain('already has disk taint')
    await kubectl.ok(`taint node ${name} disk=worse:NoSchedule --overwrite`)
    await kubectl.ok(`taint node ${name} gone:NoExecute`)
    await kubectl.ok(`taint node ${name} gone-`)
    const taints = await kubectl.json<{ spec: { taints: { key: string; value?: string; effect: string }[] } }>(
      `get node ${name}`,
    )
    const ours = taints.spec.taints.filter((t) => !t.key.startsWith('node.kubernetes.io/'))
    expect(ours).toMatchObject([{ key: 'disk', value: 'worse', effect: 'NoSchedule' }])
  })

  test.concurrent('a wrong taint is refused', async () => {
    const name = await newNode()
    expect(await kubectl.refused(`taint node ${name} a=b:Sometimes`)).toMatch(
      /invalid taint effect|unsupported taint effect/,
    )
  })

  test.concurrent('drain evicts what may go and leaves what a daemon set owns', async () => {
    const name = await newNode()
    const set = fresh('ds')
    await kubectl.apply(
      [
        {
          apiVersion: 'apps/v1',
          kind: 'DaemonSet',
          metadata: { name: set },
          spec: {
            selector: { matchLabels: { d: set } },
            template: { metadata: { labels: { d: set } }, spec: { containers: [{ name: 'main', image: 'i' }] } },
          },
        },
      ],
      N,
    )
    const uid = await kubectl.ok(`get ds ${set} ${N} -o jsonpath={.metadata.uid}`)
    const ownerReferences = [{ apiVersion: 'apps/v1', kind: 'DaemonSet', name: set, uid, controller: true }]
    const [plain, kept] = [fresh('plain'), fresh('kept')]
    await kubectl.apply([podOn(plain, name), podOn(kept, name, { d: set }, { ownerReferences })], N)
    expect(await kubectl.refused(`drain ${name} --timeout=20s`)).toMatch(/cannot delete DaemonSet-managed Pods/)
    const out = await kubectl.ok(`drain ${name} --force --ignore-daemonsets --timeout=20s`)
    expect(out).toContain(`node/${name} drained`)
    expect(await kubectl.ok(`get pod ${plain} ${kept} ${N} --ignore-not-found -o name`)).toBe(`pod/${kept}\n`)
  })

  // how many pods are healthy is counted by a loop of a controller manager
  if (hasLoops)
    test.concurrent('drain waits for a budget and goes on when it allows', async () => {
      const [name, app, first, second] = [await newNode(), fresh('app'), fresh('pod'), fresh('pod')]
      await kubectl.apply([budget(app, { app }, 1), podOn(first, name, { app })], N)
      await kubectl.ok(`patch pod ${first} ${N} --subresource=status -p`, [RUNNING])
      await kubectl.ok(`wait pdb/${app} ${N} --for=jsonpath={.status.currentHealthy}=1 --timeout=20s`)
      expect(await kubectl.refused(`drain ${name} --force --timeout=1s`)).toContain(
        "would violate the pod's disruption budget",
      )
      await kubectl.apply([podOn(second, 'elsewhere', { app })], N)
      await kubectl.ok(`patch pod ${second} ${N} --subresource=status -p`, [RUNNING])
      await kubectl.ok(`wait pdb/${app} ${N} --for=jsonpath={.status.disruptionsAllowed}=1 --timeout=20s`)
      expect(await kubectl.ok(`drain ${name} --force --timeout=20s`)).toContain('drained')
      expect(await kubectl.ok(`get pod ${first} ${N} --ignore-not-found`)).toBe('')
    })

  test.concurrent('a dry run of a drain moves no pod', async () => {
    const [name, pod] = [await newNode(), fresh('pod')]
    await kubectl.apply([podOn(pod, name)], N)
    await kubectl.ok(`drain ${name} --force --dry-run=server`)
    expect(await kubectl.ok(`get pod ${pod} ${N} -o name`)).toBe(`pod/${pod}\n`)
  })

  describe('certificates', () => {
    async function request(commonName: string, organization: string) {
      const name = fresh('csr')
      const pem = await signingRequest(await newPrivateKey(), { commonName, organizations: [organization] })
      await kubectl.apply([
        {
          apiVersion: 'certificates.k8s.io/v1',
          kind: 'CertificateSigningRequest',
          metadata: { name },
          spec: {
            signerName: CLIENT_SIGNER,
            request: Buffer.from(pem).toString('base64'),
            usages: ['client auth'],
            expirationSeconds: 3_600,
          },
        },
      ])
      return name
    }

    test.concurrent('a request waits, is approved, and says by whom it was asked', async () => {
      const name = await request('ada', 'team')
      expect(await kubectl.ok(`get csr ${name}`)).toMatch(/REQUESTOR.*REQUESTEDDURATION.*CONDITION[\s\S]*60m +Pending/)
      expect(await kubectl.ok(`certificate approve ${name}`)).toContain('approved')
      expect(await kubectl.ok(`get csr ${name}`)).toContain('Approved')
    })

    test.concurrent('a denied one is never issued, nor approved afterwards', async () => {
      const name = await request('eve', 'team')
      expect(await kubectl.ok(`certificate deny ${name}`)).toContain('denied')
      expect(await kubectl.ok(`get csr ${name}`)).toContain('Denied')
      expect(await kubectl.refused(`certificate approve ${name}`)).toMatch(/Denied|denied/)
    })

    if (hasLoops)
      test.concurrent('what is issued carries the name and the groups that were asked for, and ends in time', async () => {
        const name = await request('grace', 'fleet-admins')
        await kubectl.ok(`certificate approve ${name}`)
        await kubectl.ok(`wait csr/${name} --for=jsonpath={.status.certificate} --timeout=20s`)
        const pem = Buffer.from(await kubectl.ok(`get csr ${name} -o jsonpath={.status.certificate}`), 'base64')
        const certificate = new X509Certificate(pem)
        expect(certificate.subject.split('\n').toSorted()).toEqual(['CN=grace', 'O=fleet-admins'])
        const hours = (Date.parse(certificate.validTo) - Date.now()) / 3_600_000
        expect([hours > 0.5, hours <= 1.1]).toEqual([true, true])
        expect(certificate.verify(new X509Certificate(server.ca).publicKey)).toBe(true)
      })
  })

  describe('rights of others', () => {
    test.concurrent('a role binding gives what it says and no more', async () => {
      const [role, user] = [fresh('role'), fresh('user')]
      await kubectl.ok(`create role ${role} --verb=get,list --resource=pods ${N}`)
      await kubectl.ok(`create rolebinding ${role} --role=${role} --user=${user} ${N}`)
      expect(await kubectl.ok(`auth can-i list pods ${N} --as=${user}`)).toBe('yes\n')
      expect((await kubectl.run(`auth can-i delete pods ${N} --as=${user}`)).out).toBe('no\n')
      expect((await kubectl.run(`auth can-i list pods -n default --as=${user}`)).out).toBe('no\n')
      expect(await kubectl.ok(`auth can-i --list ${N} --as=${user}`)).toMatch(/^pods +\[\] +\[\] +\[get list\]$/m)
      expect(await kubectl.ok(`get pods ${N} --as=${user}`)).toBeDefined()
      expect(await kubectl.refused(`get secrets ${N} --as=${user}`)).toContain(
        `User "${user}" cannot list resource "secrets"`,
      )
    })

    test.concurrent('groups are impersonated too', async () => {
      const group = fresh('group')
      await kubectl.ok(`create clusterrole ${group} --verb=list --resource=configmaps`)
      await kubectl.ok(`create clusterrolebinding ${group} --clusterrole=${group} --group=${group}`)
      const may = async () => (await kubectl.run(`auth can-i list configmaps -A --as=somebody --as-group=${group}`)).out
      // A real server learns of a role and its binding a moment after they were written.
      expect(await eventually(may, (answer) => answer === 'yes\n')).toBe('yes\n')
      expect(await kubectl.ok(`auth whoami --as=somebody --as-group=${group}`)).toMatch(
        new RegExp(`Groups +\\[${group} system:authenticated\\]`),
      )
    })

    test.concurrent('auth reconcile brings roles to what a manifest says', async () => {
      const role = fresh('role')
      await kubectl.ok(`create role ${role} --verb=get --resource=pods ${N}`)
      const manifest = {
        apiVersion: 'rbac.authorization.k8s.io/v1',
        kind: 'Role',
        metadata: { name: role, namespace: NS },
        rules: [{ apiGroups: [''], resources: ['pods'], verbs: ['get', 'list'] }],
      }
      await kubectl.ok('auth reconcile -f -', [], { stdin: JSON.stringify(manifest) })
      const rules = await kubectl.ok(`get role ${role} ${N} -o jsonpath={.rules}`)
      expect(rules).toContain('list')
    })
  })

  describe('what there is no node for', () => {
    test.concurrent('logs of a pod on a node that cannot be reached are refused with the reason', async () => {
      const [name, pod] = [await newNode(), fresh('pod')]
      await kubectl.apply([podOn(pod, name)], N)
      expect(await kubectl.refused(`logs ${pod} ${N}`)).toMatch(/Error from server/)
    })

    test.concurrent('there are no metrics, and kubectl says so', async () => {
      expect(await kubectl.refused('top pods -A')).toContain('Metrics API not available')
    })
  })
})
