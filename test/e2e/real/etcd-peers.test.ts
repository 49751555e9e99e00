// Members of an etcd that see each other as pods do: each with an address and a network of its own, and with the names that a cluster's DNS gives them. A member
// asks the DNS whether the certificate of another one may come from that address.
import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { controlPlaneObjects } from '#api/constructs/control-plane/control-plane.ts'
import { initialCluster } from '#api/constructs/control-plane/etcd.ts'
import { secretFiles } from '#controlplanes/kubernetes/mounted-secrets.ts'
import { etcdHosts } from '#controlplanes/kubernetes/plane-credentials.ts'
import { kubernetesRecipe } from '#controlplanes/kubernetes/recipe.ts'
import { serveNames } from '#test/support/servers/real/cluster-names.ts'
import type { Names } from '#test/support/servers/real/dns-answers.ts'
import { Programs } from '#test/support/servers/real/place.ts'
import { programFile, whyNoPrograms } from '#test/support/servers/real/programs.ts'
import { startSealedHost, UPLINK, whyNoSealedHost, type SealedHost } from '#test/support/servers/real/sealed-host.ts'
import { until } from '#test/support/tools/processes.ts'
import { planeSettings } from '#test/support/worlds/control-planes.ts'
import { careProgram, whyNoEtcdHost } from '#test/support/worlds/kubernetes-host-world.ts'
import { madeFor } from '#test/support/worlds/plane-programs.ts'

const WITHIN_MS = 120_000
const SETTINGS = planeSettings()
const MEMBERS = [0, 1, 2] as const
const addressOf = (n: number): string => `10.244.0.${10 + n}`

/** A network for each member, as pods have it, all on one bridge. */
const NETWORK = `
ip link add pods type bridge
ip address add 10.244.0.1/24 dev pods
ip link set pods up
for n in 0 1 2; do
  ip netns add member-$n
  ip link add pod-$n type veth peer name eth0 netns member-$n
  ip link set pod-$n master pods up
  ip -n member-$n link set lo up
  ip -n member-$n address add 10.244.0.$((10 + n))/24 dev eth0
  ip -n member-$n link set eth0 up
  ip -n member-$n route add default via 10.244.0.1
done
mount --bind "$1" "$(readlink -f /etc/resolv.conf)"
`

test(
  'three members with the certificates of a control plane find each other by their names, and take a write',
  async (context) => {
    const why = whyNoSealedHost() ?? whyNoPrograms(['etcd']) ?? whyNoEtcdHost()
    if (why !== undefined) context.skip(`members with addresses of their own: ${why}`)
    const folder = mkdtempSync(join(tmpdir(), 'kubenode-peers-'))
    const host = await startSealedHost()
    const names = await serveNames(host, async () => dnsNames())
    const members: Programs[] = []
    try {
      const resolver = join(folder, 'resolv.conf')
      const domains = [`${SETTINGS.namespace}.svc.cluster.local`, 'svc.cluster.local', 'cluster.local']
      writeFileSync(resolver, `search ${domains.join(' ')}\nnameserver ${host.outside}\noptions ndots:5\n`)
      host.run('/bin/sh', ['-euc', NETWORK, 'sh', resolver])
      host.run('/usr/sbin/iptables-restore', ['--noflush'], `*nat\n-A POSTROUTING -o ${UPLINK} -j MASQUERADE\nCOMMIT\n`)
      const secrets = writeSecrets(folder)
      for (const n of MEMBERS) members.push(startMember(host, folder, n))
      // Not in this thread, which answers for names meanwhile.
      const put = async (): Promise<true | undefined> => {
        const url = `--endpoints=https://etcd-0.etcd.${SETTINGS.namespace}.svc:2379`
        const [ca, cert, key] = ['ca.crt', 'tls.crt', 'tls.key'].map((file) => join(secrets, 'apiserver-etcd', file))
        const words = [careProgram('etcdctl') ?? '', url, `--cacert=${ca}`, `--cert=${cert}`, `--key=${key}`]
        const [enter, ...inside] = [...host.enter, 'ip', 'netns', 'exec', 'member-1', 'env', 'ETCDCTL_API=3']
        const { stdout } = await promisify(execFile)(enter, [...inside, ...words, 'put', 'a', 'b'])
        return stdout.includes('OK') ? true : undefined
      }
      const tails = () => members.map((m, n) => m.tail(`etcd-${n}`)).join('\n')
      await until('a write', put, WITHIN_MS).catch((e: unknown) => {
        throw new Error(`${String(e)}\n${tails()}`)
      })
      expect(tails()).not.toContain('does not match any of DNSNames')
    } finally {
      for (const member of members) await member.stop(5_000)
      await names.stop()
      await host.stop()
      rmSync(folder, { recursive: true, force: true })
    }
  },
  3 * WITHIN_MS,
)

function dnsNames(): Names {
  const own = `etcd.${SETTINGS.namespace}.svc`
  const names = new Map<string, readonly string[]>([[own, MEMBERS.map(addressOf)]])
  for (const n of MEMBERS) names.set(`etcd-${n}.${own}`, [addressOf(n)])
  return names
}

function writeSecrets(folder: string): string {
  const held = madeFor({
    recipe: kubernetesRecipe({ etcdHosts: etcdHosts(SETTINGS) }),
    endpoint: 'https://127.0.0.1:6443',
    hosts: [],
    declared: {},
    servers: { total: 0, running: [] },
    agents: [],
  })
  const place = join(folder, 'secrets')
  for (const [secret, files] of Object.entries(secretFiles(held) ?? {})) {
    mkdirSync(join(place, secret), { recursive: true, mode: 0o700 })
    for (const [file, text] of Object.entries(files)) writeFileSync(join(place, secret, file), text, { mode: 0o600 })
  }
  return place
}

function startMember(host: SealedHost, folder: string, n: number): Programs {
  const workload = controlPlaneObjects(SETTINGS).find((o) => o.kind === 'StatefulSet') as unknown as {
    readonly spec: {
      readonly template: { readonly spec: { readonly containers: readonly [{ readonly command: readonly string[] }] } }
    }
  }
  const [, ...words] = workload.spec.template.spec.containers[0].command
  const home = join(folder, `etcd-${n}`)
  const here = (word: string): string =>
    word
      .replaceAll('$(POD_NAME)', `etcd-${n}`)
      .replaceAll('$(CLUSTER_STATE)', 'new')
      .replaceAll('$(CLUSTER_MEMBERS)', initialCluster(SETTINGS))
      .replaceAll('/etc/kubernetes', join(folder, 'secrets'))
      .replaceAll('/var/lib/etcd', home)
  mkdirSync(home, { mode: 0o700 })
  const programs = new Programs({ address: '', enter: [...host.enter, 'ip', 'netns', 'exec', `member-${n}`] }, home)
  programs.start(`etcd-${n}`, programFile('etcd'), words.map(here))
  return programs
}
