// The port for Prometheus: serves the agent's metrics over HTTPS at the node's address to users who may get nodes/metrics of this node. Like a kubelet, it asks the
// API server. Closed unless the configuration opens it; a failure never stops the agent.
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import type { ScrapeConfig } from '#api/agent-config/metrics-config.ts'
import type { Clock } from '#lib/clock.ts'
import { defined } from '#lib/defined.ts'
import { messageOf } from '#lib/errors.ts'
import { isObject } from '#lib/json.ts'
import type { Logger } from '#lib/log.ts'
import type { KubeClient } from '#kube/client.ts'
import { ofNode } from '#runtime/metrics-access.ts'
import { MetricsServer, type KeyFiles, type KeySource, type Pair } from '#runtime/metrics-server.ts'
import { isUsable, newServingCertificate, type ServingCertificate } from '#runtime/tls/serving-certificate.ts'
import { readState, writeDurably } from '../files/durable.ts'
import type { Files } from '../files/port.ts'

export interface ScrapeOptions {
  readonly settings: ScrapeConfig
  readonly client: KubeClient
  readonly clock: Clock
  readonly log: Logger
  readonly files: Files
  /** Path of the agent's own certificate. */
  readonly keyFile: string
  readonly node: string
  /** A loopback address if the node is only a process; undefined for every address of the host. */
  readonly address: string | undefined
  readonly text: () => string
}

const CONTENT_TYPE = 'text/plain; version=0.0.4; charset=utf-8'
const COMMON_NAME = 'kubenode-agent-metrics'

export class ScrapeServer {
  readonly #o: ScrapeOptions
  #server: MetricsServer | undefined

  constructor(options: ScrapeOptions) {
    this.#o = options
  }

  /** Undefined while closed. */
  get port(): number | undefined {
    return this.#server?.port
  }

  async start(): Promise<void> {
    const { settings, client, clock, log, node, address, text } = this.#o
    try {
      const clientCa = settings.clientCa === undefined ? undefined : await readFile(settings.clientCa, 'utf8')
      this.#server = new MetricsServer({
        metrics: { metrics: () => Promise.resolve(text()), contentType: CONTENT_TYPE },
        client,
        clock,
        log,
        host: address ?? everyAddress(),
        port: settings.port,
        keys: this.#keys(),
        right: ofNode(node),
        ...defined({ clientCa }),
      })
      await this.#server.start()
    } catch (e) {
      log.warn('Prometheus cannot scrape this node', { port: settings.port, error: messageOf(e) })
    }
  }

  async stop(): Promise<void> {
    await this.#server?.stop()
    this.#server = undefined
  }

  #keys(): KeyFiles | KeySource {
    const { cert, key } = this.#o.settings
    return cert !== undefined && key !== undefined ? { cert, key } : { pair: () => this.#ownPair() }
  }

  /** Kept across restarts for scrapers that pin it. */
  async #ownPair(): Promise<Pair> {
    const { files, keyFile, clock, node } = this.#o
    const kept = await readState(files, keyFile, certificateIn)
    if (kept !== undefined && isUsable(kept, [node], clock.now())) return kept
    const fresh = newServingCertificate({ commonName: COMMON_NAME, hosts: [node] }, clock.now())
    await writeDurably(files, keyFile, JSON.stringify(fresh))
    return fresh
  }
}

/** IPv4 and IPv6 where the kernel has both. */
const everyAddress = (): string => (existsSync('/proc/net/if_inet6') ? '::' : '0.0.0.0')

function certificateIn(value: unknown): ServingCertificate | undefined {
  if (!isObject(value)) return undefined
  const { ca, cert, key } = value
  return typeof ca === 'string' && typeof cert === 'string' && typeof key === 'string' ? { ca, cert, key } : undefined
}
