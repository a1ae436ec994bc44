"use strict";
// Shows the OpenAPI document with Swagger UI. No request leaves this site: the validator of swagger.io stays off.
const place = document.getElementById("swagger-ui");
SwaggerUIBundle({
  domNode: place,
  url: place.dataset.document,
  validatorUrl: null,
  deepLinking: true,
  defaultModelsExpandDepth: 0,
  presets: [SwaggerUIBundle.presets.apis],
  requestInterceptor: (request) => {
    request.headers["X-CSRFToken"] = place.dataset.csrf;
    return request;
  },
});
