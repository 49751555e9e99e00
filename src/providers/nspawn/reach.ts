// Lets a machine with its own network reach the API server on this host's loopback and nothing else: under the same address, through a socket in a shared
// folder.
import { join } from 'node:path'

/** The socket's folder inside the machine. */
export const REACH_INSIDE = '/opt/kubenode/reach'
export const SOCKET = 'api.sock'
export const UNIT = 'kubenode-reach'

/** `127.0.0.1:6443` for `https://127.0.0.1:6443`; undefined for servers that are not on this host's loopback. */
export function loopbackOf(server: string): string | undefined {
  if (!URL.canParse(server)) return undefined
  const { hostname, port, protocol } = new URL(server)
  if (protocol !== 'https:' || !/^127(?:\.\d{1,3}){3}$/.test(hostname)) return undefined
  return `${hostname}:${port === '' ? '443' : port}`
}

/** systemd listens inside and forwards each connection. */
export const reachUnits = (address: string): Readonly<Record<string, string>> => ({
  [`${UNIT}.socket`]: `[Unit]
Description=The API server, on the loopback of the host
Before=kubenode-agent.service

[Socket]
ListenStream=${address}

[Install]
WantedBy=sockets.target
`,
  [`${UNIT}.service`]: `[Unit]
Description=Connections to the API server
Requires=${UNIT}.socket

[Service]
ExecStart=/lib/systemd/systemd-socket-proxyd ${join(REACH_INSIDE, SOCKET)}
Restart=on-failure
`,
})
