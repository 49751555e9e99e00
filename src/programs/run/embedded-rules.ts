// KubeNode's rules for the embedded API server, which knows nothing about agents: whose certificates it signs and accepts, and the rejoin endpoint for hosts
// with expired certificates.
import type { ApiServerOptions, MakeOpenPath } from '#apiserver/apiserver.ts'
import { DOOR_PATH, DOOR_USER } from '#api/names.ts'
import { HttpKubeClient } from '#kube/http/client.ts'
import { type Clock } from '#lib/clock.ts'
import { systemClock } from '#lib/system-clock.ts'
import { silentLogger, type Logger } from '#lib/log.ts'
import { isAcceptedUser } from '#identity/accepted-agent.ts'
import { joinersAreAgents } from '#identity/agent-request.ts'
import { Door, REQUEST_BYTES } from '#identity/door/door.ts'
import { authorityPrint } from '#identity/door/proof.ts'
import { queueIn } from '#identity/door/queue.ts'
import { certificatesIn } from '#lib/x509/pem-list.ts'
import { placeOf } from '#identity/door/rates.ts'
import { lifeSecondsOf } from '#identity/certificate-life.ts'

interface DoorTools {
  readonly clock: Clock
  readonly log: Logger
}

/** The rejoin endpoint uses the server like any other client, as DOOR_USER, with the roles and policies of `deploy/install`. */
const embeddedDoor =
  ({ clock, log }: DoorTools): MakeOpenPath =>
  ({ url, ca, identity }) => {
    let made: { readonly ca: string; readonly door: Door; readonly client: HttpKubeClient } | undefined
    const opened = () => {
      const trusted = ca()
      if (made?.ca === trusted) return made
      // The authority changed: the client's certificate must come from the one that signs now.
      made?.client.close()
      const { key, certificate } = identity(DOOR_USER)
      const clientCertificate = { cert: { data: certificate }, key: { data: key } }
      const client = new HttpKubeClient({ server: url(), ca: { data: trusted }, clientCertificate })
      // While one authority replaces another, hosts may pin either.
      const prints = certificatesIn(trusted).map(authorityPrint)
      made = {
        ca: trusted,
        client,
        door: new Door({ queue: queueIn(client), server: () => prints, seconds: lifeSecondsOf, clock, log }),
      }
      return made
    }
    return {
      path: DOOR_PATH,
      bodyBytes: REQUEST_BYTES,
      answer: ({ method, body, address }) => opened().door.answer({ method, body, place: placeOf(address) }),
      close: () => made?.client.close(),
    }
  }

export const embeddedRules = ({ clock = systemClock, log = silentLogger }: Partial<DoorTools> = {}): Pick<
  ApiServerOptions,
  'judgeSubject' | 'acceptsUser' | 'openPath'
> => ({
  judgeSubject: joinersAreAgents,
  acceptsUser: isAcceptedUser,
  openPath: embeddedDoor({ clock, log }),
})
