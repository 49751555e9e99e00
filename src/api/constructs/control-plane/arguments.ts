// Arguments of a control plane's programs.
import { minorOf, type ControlPlaneSettings, type Part, type PartForm } from './settings.ts'

/** A new program keeps an older minor's behavior: the way back stays open until that ends. */
export const emulation = ({ version, emulates }: PartForm): readonly string[] =>
  emulates === minorOf(version) ? [] : [`--emulated-version=1.${emulates}`]

/** Last, so that a Cluster can override: for a repeated argument the programs use the later value. */
export const extraArgs = ({ extraArgs: all }: ControlPlaneSettings, part: Part): readonly string[] =>
  Object.entries(all).flatMap(([name, value]) =>
    name.startsWith(`${part}.`) ? [`--${name.slice(part.length + 1)}=${value}`] : [],
  )

/**
 * Settings of certificates, keys, stores, networks and rights are made in one place. This includes anything that would disable a check of them, or start
 * another store.
 */
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
