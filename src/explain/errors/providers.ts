// The Defender, infra providers, controllers and the console.
import type { Advice } from './advice.ts'

export const providers = {
  KN10010: {
    cause: 'A limit of a policy is neither a number nor a percentage.',
    check: 'the field in the message',
    do: 'write one like 3 or 10%',
  },
  KN11001: {
    cause: 'The record of a node in its provider is damaged.',
    check: 'the file in the message',
    do: 'remove the record if the node is no longer needed',
  },
  KN11002: {
    cause: 'The machine or its agent did not start.',
    check: 'the log or console in the message',
    do: 'correct what it names; the provider tries again',
  },
  KN11011: {
    cause: 'This provider cannot reboot a host whose agent is silent.',
    check: 'the console of the host',
    do: 'reboot the host by hand',
  },
  KN11020: {
    cause: 'The provider needs root and programs that the host does not have.',
    check: 'id, and which of the program in the message',
    do: 'run as root with the program installed, or use provider process',
  },
  KN11022: {
    cause: 'The path of a machine cannot be mounted.',
    check: 'the path in the message',
    do: 'name a folder without ":", "," and spaces',
  },
  KN11030: {
    cause: 'The providers file has a mistake.',
    check: 'the place in the message, and docs/reference/providers.md',
    do: 'correct that entry; programs read the file at their start',
  },
  KN11040: {
    cause: 'The cloud refused a call.',
    check: 'the code in the message, and docs/operations/clouds.md',
    do: 'act on the codes that docs/operations/clouds.md lists; others are retried',
  },
  KN11041: {
    cause: 'The cloud throttles the account.',
    check: 'the quota of the account, and who else uses it',
    do: 'wait; if it continues, ask for a higher quota or set options.limits',
  },
  KN11042: {
    cause: 'A call to the cloud failed on the way.',
    check: 'the network, the endpoint and the credentials',
    do: 'correct them if it continues; retried automatically',
  },
  KN11043: {
    cause: 'The cloud does not list a host, which may be a delay of its lists.',
    check: 'the console of the cloud',
    do: 'wait: after the time in the message it counts as deleted',
  },
  KN11044: {
    cause: 'The host is in another region than the provider serves.',
    check: 'options.region in the providers file',
    do: 'set the region back, or delete the Machine of the other region first',
  },
  KN11045: {
    cause: 'An answer of the cloud was cut short or not understood.',
    check: 'options.endpoint: is it the API of the cloud',
    do: 'nothing at first: nothing is decided from a part; correct the endpoint if it continues',
  },
  KN11047: {
    cause: 'The credentials of a cloud are missing or cannot be used.',
    check: 'docs/operations/clouds.md, which shows the kinds of credentials',
    do: 'give the controllers one of these',
  },
  KN11060: {
    cause: 'A remote provider does not answer.',
    check: 'the program that serves it, and its place in the providers file',
    do: 'start it, or correct the place; retried automatically',
  },
  KN11061: {
    cause: 'A remote provider answers against the protocol, or its answer cannot be right.',
    check: 'kubenode provider conformance',
    do: 'correct the provider; retried automatically, and nothing is decided from such an answer',
  },
  KN11062: {
    cause: 'The socket of a provider could be replaced by another user.',
    check: 'ls -l of the socket',
    do: 'serve it as the same user with mode 0600',
  },
  KN11063: {
    cause: 'A remote provider reports that it cannot do this now.',
    check: 'its own log',
    do: 'repair the provider or its cloud; retried automatically',
  },
  KN11064: {
    cause: 'A provider turned into another one while the controllers run.',
    check: 'what changed, in the message',
    do: 'correct the program that serves it, or restart the controllers if the change is meant',
  },
  KN11067: {
    cause: 'A remote provider refuses the token.',
    check: 'options.tokenFile on both sides',
    do: 'put the same token on both sides; they read it again within a minute',
  },
  KN11083: {
    cause: 'A host exists without the tags of this cluster.',
    check: 'its tags in the cloud',
    do: 'put the four kubenode.io tags back, or delete the host by hand',
  },
  KN12070: {
    cause: 'The API server gives no token for an account of agents.',
    check: 'the rights of the controllers on serviceaccounts/token',
    do: 'restore these rights; until then no host joins with service accounts',
  },
  KN16002: {
    cause: 'The kubeconfig has more clusters than the console shows.',
    check: 'kubectl config get-contexts',
    do: 'name those to show with --context',
  },
  KN16004: {
    cause: 'The configuration of the console has a mistake.',
    check: 'the place in the message',
    do: 'correct it with docs/operations/console.md as the reference',
  },
} as const satisfies Advice
