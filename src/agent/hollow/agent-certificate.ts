// The certificate of one hollow agent, with the name and groups of a real one: made with the key of the cluster's authority, since thousands of requests to join
// are not what a hollow fleet is for. Never on a cluster with nodes that count.
import { AGENTS_GROUP, agentNodeGroup, agentUser, machineUidGroup } from '#api/names.ts'
import { issueCertificate, type KeyAndCertificate } from '#lib/x509/certificates.ts'

/** Longer than any run. */
const LIFE_DAYS = 7

/** The Node of a hollow host has the name of its Machine. */
export const hollowCertificate = (
  authority: KeyAndCertificate,
  machine: string,
  uid: string,
  now: number,
): KeyAndCertificate =>
  issueCertificate(authority, {
    subject: {
      commonName: agentUser(machine),
      organizations: [AGENTS_GROUP, agentNodeGroup(machine), machineUidGroup(uid)],
    },
    validity: { now, days: LIFE_DAYS },
    usage: 'client',
  })
