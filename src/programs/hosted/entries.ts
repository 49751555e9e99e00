// The options with which a process runs one program for one Cluster. Pure: as a person would start it for that cluster alone.
import type { HostedProgram } from '#api/names.ts'

/** Settings of the hub that hold for every Cluster, by option. The address of an API server is that of the kubeconfig. */
const SHARED: Readonly<Record<HostedProgram, Readonly<Record<string, string>>>> = {
  controllers: {
    providers: '--providers',
    artifactBase: '--artifact-base',
    artifactCa: '--artifact-ca',
    artifactTrust: '--artifact-trust',
    joinScript: '--join-script',
    trust: '--trust',
    prometheusUrl: '--prometheus-url',
    inspectionAllow: '--inspection-allow',
    callAllow: '--call-allow',
  },
  approver: { certificateLife: '--certificate-life', agentIdentity: '--agent-identity' },
  defender: {
    webhookHost: '--webhook-host',
    webhookListen: '--webhook-listen',
    webhookAnnounce: '--webhook-announce',
  },
}

/** In an option of the hub: the name of the Cluster, for files that each has of its own. */
const PLACEHOLDER = '{cluster}'

/** `options`: those of `kubenode run`. */
export function sharedOptions(program: HostedProgram, options: object): readonly string[] {
  const given = new Map<string, unknown>(Object.entries(options))
  return Object.entries(SHARED[program]).flatMap(([name, flag]) => {
    const value = given.get(name)
    if (typeof value !== 'string') return []
    return name === 'providers' && !value.includes(PLACEHOLDER) ? [flag, value, '--providers-shared'] : [flag, value]
  })
}

export interface EntryOf {
  readonly program: HostedProgram
  readonly cluster: string
  readonly kubeconfig: string
  readonly shared: readonly string[]
}

export const entryOf = ({ program, cluster, kubeconfig, shared }: EntryOf): readonly string[] => [
  '--roles',
  program,
  '--kubeconfig',
  `${program}=${kubeconfig}`,
  '--cluster',
  cluster,
  ...shared.map((word) => word.replaceAll(PLACEHOLDER, cluster)),
]
