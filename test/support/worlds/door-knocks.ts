// Knocks at the door as an attacker makes them: any key, any name, any address of this host, any body.
import https from 'node:https'
import { requestPem } from '#agent/join/request.ts'
import { DOOR_PATH } from '#api/names.ts'
import { defined } from '#lib/defined.ts'
import { newPrivateKey } from '#lib/x509/signing-request.ts'
import { authorityPrint, makeProof } from '#identity/door/proof.ts'

export interface DoorPlace {
  readonly url: string
  readonly ca: string
}

export interface KnockAnswer {
  readonly status: number
  readonly state: string
  readonly message: string
  readonly nonce: string
  readonly certificate: string
}

/** `from`: an address of this host, 127.0.0.1 without it. */
export function send(
  { url, ca }: DoorPlace,
  method: string,
  {
    body,
    from,
    agent = false,
  }: { readonly body?: string; readonly from?: string; readonly agent?: https.Agent | false },
): Promise<KnockAnswer> {
  return new Promise((resolve, reject) => {
    const request = https.request(
      new URL(DOOR_PATH, url),
      { method, ca, agent, ...defined({ localAddress: from }) },
      (response) => {
        let text = ''
        response.setEncoding('utf8')
        response.on('data', (part: string) => void (text += part))
        response.on('end', () => {
          const { state = '', message = '', nonce = '', certificate = '' } = JSON.parse(text) as Partial<KnockAnswer>
          resolve({ status: response.statusCode ?? 0, state, message, nonce, certificate })
        })
      },
    )
    request.on('error', reject)
    request.end(body)
  })
}

export interface KnockWish {
  readonly machine: string
  readonly uid: string
  readonly node?: string
  /** Signs the proof. */
  readonly oldKey: string
  readonly newKey?: string
  readonly from?: string
  /** Puts another request beside the proof. */
  readonly swap?: (request: string) => Promise<string>
}

/** The body of a knock, with a word that the door gave out now. */
export async function knockBody(place: DoorPlace, wish: KnockWish): Promise<string> {
  const { machine, uid, node = machine, oldKey, from, swap } = wish
  const newKey = wish.newKey ?? (await newPrivateKey())
  const { nonce } = await send(place, 'GET', defined({ from }))
  const request = await requestPem(newKey, { machine, node, uid })
  const proof = makeProof(oldKey, { machine, uid, nonce, server: authorityPrint(place.ca) }, request)
  return JSON.stringify({ request: (await swap?.(request)) ?? request, proof })
}

export const knockAs = async (place: DoorPlace, wish: KnockWish): Promise<KnockAnswer> =>
  send(place, 'POST', { body: await knockBody(place, wish), ...defined({ from: wish.from }) })
