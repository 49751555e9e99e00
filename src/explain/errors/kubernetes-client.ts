// Connections to API servers, and their answers.
import type { Advice } from './advice.ts'

export const kubernetesClient = {
  KN2001: {
    cause: 'The API server cannot be reached, or does not answer in time.',
    check: 'the address in the kubeconfig, the network, and the load of the API server',
    do: 'start it or correct the address; programs retry by themselves',
  },
  KN2003: {
    cause: 'The certificate of the API server has expired.',
    check: 'openssl s_client -connect HOST:PORT, and the clock of this machine',
    do: 'renew the certificate',
  },
  KN2004: {
    cause: 'The certificate of the API server is not signed by the authority in the kubeconfig.',
    check: 'certificate-authority-data, and who answers at the address',
    do: 'correct the authority or the address; another server may answer there',
  },
  KN2005: {
    cause: 'A response is larger than the client reads.',
    check: 'the request in the message',
    do: 'request smaller pages',
  },
  KN2008: {
    cause: 'The certificate of the API server is for another name.',
    check: 'the names in the certificate',
    do: 'use one of them as address, or set tls-server-name of the cluster in the kubeconfig',
  },
  KN2010: {
    cause: 'The address or proxy of the cluster is not one that the client connects to.',
    check: 'server and proxy-url of the cluster in the kubeconfig',
    do: 'use https://HOST:PORT with nothing but a path; plain http only to a proxy on this host',
  },
  KN2014: {
    cause: 'A name or path in a request cannot be one.',
    check: 'the name in the message: empty, slashes or white space',
    do: 'correct the name in the command or in the object that refers to it',
  },
  KN2015: {
    cause: 'The context does not exist, is incomplete, or none is chosen.',
    check: 'kubectl config get-contexts',
    do: 'choose one with --context or kubectl config use-context',
  },
  KN2017: {
    cause: 'The process is not in a pod with a service account that it can read.',
    check: 'automountServiceAccountToken, the projected volume, and the user of the process',
    do: 'run it in a pod with the token and kube-root-ca.crt mounted, or give a kubeconfig',
  },
  KN2019: {
    cause: 'The user of the kubeconfig logs in with a method that is not supported.',
    check: 'the fields of the user in the message',
    do: 'use a token or a client certificate',
  },
  KN2025: {
    cause: 'The credential plugin of the kubeconfig failed.',
    check: 'its error: run the plugin by hand',
    do: 'log in again, or repair the plugin',
  },
  KN2100: {
    cause: 'The kubeconfig in a Secret is no kubeconfig, is incomplete, or has a field that is not known.',
    check: 'the problems listed, with line and column',
    do: 'store one YAML document of kind Config, with a context whose cluster and user are in it, and the fields listed',
  },
  KN2101: {
    cause:
      'The user in a kubeconfig of a Secret runs a program, names files of a machine, or has a password or a damaged credential.',
    check: 'users[].user',
    do: 'put a token on one line there, or client-certificate-data and client-key-data, each as base64 of PEM',
  },
  KN2107: {
    cause: 'The cluster in a kubeconfig of a Secret is not a plain https address that is verified.',
    check: 'server, proxy-url and insecure-skip-tls-verify of the cluster',
    do: 'write https://HOST:PORT of the API server without user, query and fragment, add certificate-authority-data, and remove the proxy',
  },
  KN2400: {
    cause: 'The API server does not accept the form of a request (HTTP 400, 405, 406, 415).',
    check: 'its reason in the message',
    do: 'correct the request: the arguments of the command, or the object',
  },
  KN2401: {
    cause: 'The API server does not accept the credentials.',
    check: 'kubectl auth whoami with the same kubeconfig',
    do: 'renew the token or client certificate',
  },
  KN2403: {
    cause: 'The identity has no permission for this.',
    check: 'kubectl auth can-i VERB RESOURCE --as IDENTITY',
    do: 'ask for the permission that the message names, or run the command as a cluster administrator',
  },
  KN2404: {
    cause: 'The object, or its kind, does not exist in this cluster.',
    check: 'kubectl api-resources and kubectl get',
    do: 'check the name, the namespace and the cluster',
  },
  KN2409: {
    cause: 'The object changed meanwhile, or exists already.',
    check: 'kubectl get with -o yaml: resourceVersion and uid',
    do: 'read it again and decide with what it is now',
  },
  KN2410: {
    cause: 'A list, watch or stream of the API server was too old or broke off.',
    check: 'the log of the API server, if it repeats within seconds',
    do: 'nothing: programs read again by themselves; list again by hand',
  },
  KN2413: {
    cause: 'The request is larger than the API server accepts.',
    check: 'the size of the object',
    do: 'make it smaller',
  },
  KN2422: {
    cause: 'The API server found mistakes in the object.',
    check: 'the fields in the message',
    do: 'correct these fields',
  },
  KN2500: {
    cause: 'The API server cannot answer now: it is starting, overloaded or has an error.',
    check: 'its log, and /readyz',
    do: 'nothing: retried automatically; repair the API server if it continues for minutes',
  },
  KN2507: {
    cause: 'The disk of the API server is full.',
    check: 'df on its machine',
    do: 'free space there; writes resume by themselves',
  },
} as const satisfies Advice
