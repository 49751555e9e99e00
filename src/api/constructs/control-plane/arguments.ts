// Arguments of the programs of a control plane.
import { minorOf, type ControlPlaneSettings, type Part, type PartForm } from './settings.ts'

/** A new program that keeps the behavior of an older minor: the way back is open until it ends. */
export const emulation = ({ version, emulates }: PartForm): readonly string[] =>
  emulates === minorOf(version) ? [] : [`--emulated-version=1.${emulates}`]

/** Last, so that a Cluster has the last word: of an argument that is given twice the programs take the later one. */
export const extraArgs = ({ extraArgs: all }: ControlPlaneSettings, part: Part): readonly string[] =>
  Object.entries(all).flatMap(([name, value]) =>
    name.startsWith(`${part}.`) ? [`--${name.slice(part.length + 1)}=${value}`] : [],
  )

/** What certificates, keys, stores, networks and rights hang on is decided in one place: also what would turn off a check of them, or begin another store. */
const OWNED =
  /^(etcd-|tls-|cipher-suites|client-c|requestheader-|proxy-client-|service-account-|use-service-account-|service-cluster-ip-range|cluster-cidr|authentication-|authorization-|anonymous-|token-auth-|auth-token|encryption-|emulated-version|kubeconfig|kubelet-client-|master$|cluster-signing-|root-ca-|secure-port|bind-address|initial-|peer-|cert-|key-file|trusted-ca|auto-tls|self-signed-|config$|config-file|data-dir|wal-dir|name|listen-|advertise-|discovery|force-new-cluster|unsafe-|storage-backend|disable-admission-plugins)/

/** Arguments that a Cluster must not set, each with the reason. */
export const refusedArgs = (extra: Readonly<Record<string, string>>, parts: readonly string[]): readonly string[] =>
  Object.keys(extra).flatMap((name) => {
    const at = name.indexOf('.')
    const [part, flag] = [name.slice(0, at), name.slice(at + 1)]
    if (at < 0 || !parts.includes(part)) return [`${name}: begins with none of ${parts.join(', ')}`]
    if (!/^[a-z][a-z0-9-]*$/.test(flag)) return [`${name}: is no argument`]
    return OWNED.test(flag) ? [`${name}: KubeNode sets it itself`] : []
  })
