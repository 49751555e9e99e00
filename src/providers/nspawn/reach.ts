// How a machine with a network of its own reaches the API server on the loopback of this host, and nothing else of it: under the same address as here, through a
// socket in a folder that both see.
import { join } from 'node:path'

/** The folder of the socket, inside. */
export const REACH_INSIDE = '/opt/kubenode/reach'
export const SOCKET = 'api.sock'
export const UNIT = 'kubenode-reach'

/** `127.0.0.1:6443` of `https://127.0.0.1:6443`; undefined for servers that are not on this host's loopback. */
export function loopbackOf(server: string): string | undefined {
  if (!URL.canParse(server)) return undefined
  const { hostname, port, protocol } = new URL(server)
  if (protocol !== 'https:' || !/^127(?:\.\d{1,3}){3}$/.test(hostname)) return undefined
  return `${hostname}:${port === '' ? '443' : port}`
}

/** systemd listens inside, and passes each connection on. */
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
