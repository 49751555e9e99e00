// Decides which addresses the API servers of control planes may call. Their administrators choose webhooks, and must not use them to reach this host, its local
// network, its cloud credentials or the hub's API server.
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { readBoundedText } from '#lib/bounded-file.ts'
import { canonical, isForbiddenAddress } from '#runtime/outbound/forbidden-address.ts'
import { ownPlaces } from '#runtime/outbound/own-addresses.ts'

export interface PlaneCalls {
  /** `ADDRESS:PORT`, separated by commas. The operator vouches for them. */
  readonly webhookAllow?: string | undefined
  /** Folder in which each Defender of this host has a file with the `ADDRESS:PORT` of its webhook. */
  readonly webhookAllowIn?: string | undefined
  /** Host of the hub's API server, if this process runs in a pod of the hub. */
  readonly apiServer?: string | undefined
}

const MAX_PLACE_BYTES = 256

/** `address` without brackets. */
export const placeText = (address: string, port: number): string => {
  const host = canonical(address)
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`
}

export const planeCalls = ({ webhookAllow = '', webhookAllowIn, apiServer }: PlaneCalls) => {
  const allowed = new Set(webhookAllow.split(','))
  const apiServers = apiServer === undefined ? [] : [canonical(apiServer)]
  return (address: string, port: number): boolean => {
    if (!isForbiddenAddress(address, ownPlaces(apiServers))) return true
    const place = placeText(address, port)
    // Read at each call: Defenders come and go while the process runs.
    return allowed.has(place) || (webhookAllowIn !== undefined && placesIn(webhookAllowIn).includes(place))
  }
}

function placesIn(folder: string): readonly string[] {
  return entriesOf(folder).flatMap((name) => {
    try {
      return [readBoundedText(join(folder, name), MAX_PLACE_BYTES).trim()]
    } catch {
      // Its Defender just exited.
      return []
    }
  })
}

function entriesOf(folder: string): readonly string[] {
  try {
    return readdirSync(folder)
  } catch {
    // No Defender has started yet.
    return []
  }
}
