# A client of rugnik for R, in one file: source("rugnik.R"). It needs httr2 and jsonlite.
#
#   rugnik <- rugnik_connect("http://127.0.0.1:8000", Sys.getenv("RUGNIK_KEY"))
#   rugnik_count(rugnik, "bike-trips", where = list(hour = c(7, 9)))
#   rugnik_clusters(rugnik, "bike-trips", k = 5)
#
# A release is given by its id, or by the name of its dataset, which stands for the newest published release; it is looked
# up at each call. Each answer is a data frame with the ends of its intervals in `low` and `high`. Its attribute "rugnik"
# holds the whole answer of the service: attr(answer, "rugnik")$release says which release was asked. No question costs
# epsilon.
#
# `where` is the part of the rows that a question is about: list(age = c(30, 50), sex = "f"), or texts as in the HTTP
# reference: c("age:30..50", "sex:f,x"). NA leaves an end open: c(30, NA). c("f", "x") are two categories.
#
# A refusal of the service is a condition of class "rugnik_error", with the service's sentence as its message, and `type`,
# `status` and `fields` beside it: tryCatch(rugnik_count(...), rugnik_error = function(e) e$type).

rugnik_connect <- function(url = Sys.getenv("RUGNIK_URL", "http://127.0.0.1:8000"), key = Sys.getenv("RUGNIK_KEY")) {
  absent <- Filter(function(name) !requireNamespace(name, quietly = TRUE), c("httr2", "jsonlite"))
  if (length(absent) > 0) {
    .rugnik_stop("missing-package", sprintf("rugnik.R needs %s: install.packages(\"%s\").", absent[1], absent[1]))
  }
  if (!is.character(url) || length(url) != 1 || !grepl("^https?://", url)) {
    .rugnik_stop("unfit-argument", "url is the address of a service: it begins with http:// or https://.")
  }
  if (!is.character(key) || length(key) != 1 || !nzchar(key)) {
    .rugnik_stop("unfit-argument", "A key is needed: give key, or set the variable RUGNIK_KEY.")
  }
  structure(list(url = sub("/+$", "", url), key = key), class = "rugnik")
}

print.rugnik <- function(x, ...) {
  cat("rugnik at ", x$url, "\n", sep = "") # without the key, which a saved session would otherwise show
  invisible(x)
}

# Datasets that the key may see, with the epsilon that is left.
rugnik_datasets <- function(rugnik) {
  listed <- list()
  after <- NULL
  repeat {
    page <- .rugnik_ask(rugnik, "/v1/datasets", list(limit = 100, after = after))
    listed <- c(listed, page$datasets)
    if (is.null(page[["next"]]) || identical(page[["next"]], after)) break
    after <- page[["next"]]
  }
  .rugnik_table(
    name = .rugnik_texts(listed, "name"),
    state = .rugnik_texts(listed, "state"),
    attributes = vapply(listed, function(d) paste(.rugnik_texts(d$attributes, "name"), collapse = ", "), ""),
    epsilon_left = as.numeric(vapply(listed, function(d) d$budget$remaining, ""))
  )
}

# Releases of a dataset, oldest first.
rugnik_releases <- function(rugnik, dataset) {
  listed <- list()
  after <- 0
  while (!is.null(after)) {
    path <- paste0("/v1/datasets/", .rugnik_segment(dataset), "/releases")
    page <- .rugnik_ask(rugnik, path, list(limit = 1000, after = after))
    listed <- c(listed, page$releases)
    after <- page[["next"]]
  }
  .rugnik_table(
    id = .rugnik_texts(listed, "id"),
    label = .rugnik_texts(listed, "label"),
    state = .rugnik_texts(listed, "state"),
    epsilon = as.numeric(.rugnik_texts(listed, "epsilon"))
  )
}

# The rows in one box. low to high covers noise and cut cells together, noise_low to noise_high the noise alone.
rugnik_count <- function(rugnik, release, where = NULL, level = NULL, snap = NULL) {
  answer <- .rugnik_question(rugnik, release, "count", where, list(level = level, snap = .rugnik_yes(snap)))
  .rugnik_answer(answer, .rugnik_table(
    count = answer$count, low = answer$interval$low, high = answer$interval$high,
    noise_low = answer$noise$low, noise_high = answer$noise$high, noise_sd = answer$noise$sd
  ))
}

# The rows in each of many boxes: a list of boxes, each as `where` is written.
rugnik_counts <- function(rugnik, release, boxes, where = NULL, level = NULL, simultaneous = NULL, snap = NULL) {
  if (!is.list(boxes) || !is.null(names(boxes)) || length(boxes) == 0) {
    .rugnik_stop("unfit-argument", "boxes is a list of boxes, such as list(list(age = c(0, 50)), list(age = c(50, 100))).")
  }
  body <- list(boxes = lapply(boxes, function(box) I(.rugnik_where(box))))
  if (!is.null(where)) body$where <- I(.rugnik_where(where))
  body <- c(body, .rugnik_given(list(level = level, simultaneous = simultaneous, snap = snap)))
  answer <- .rugnik_ask(rugnik, .rugnik_path(rugnik, release, "counts"), body = body)
  .rugnik_answer(answer, .rugnik_table(
    count = unlist(answer$counts), low = unlist(answer$low), high = unlist(answer$high),
    noise_low = unlist(answer$noise$low), noise_high = unlist(answer$noise$high), noise_sd = unlist(answer$noise$sd)
  ))
}

# The histogram of one attribute or more: a row for each cell, the last attribute fastest.
rugnik_marginal <- function(rugnik, release, attributes, where = NULL, level = NULL, counts = NULL, cells = NULL) {
  asked <- list(attributes = paste(attributes, collapse = ","), level = level, counts = counts, cells = cells)
  answer <- .rugnik_question(rugnik, release, "marginal", where, asked)
  count <- as.numeric(unlist(answer$counts))
  if (!is.null(answer$bounds)) {
    low <- as.numeric(unlist(answer$bounds$each$low))
    high <- as.numeric(unlist(answer$bounds$each$high))
  } else {
    reach <- if (is.null(answer$reach)) NA_real_ else answer$reach$each
    low <- count - reach
    high <- count + reach
  }
  .rugnik_answer(answer, cbind(.rugnik_cells(answer$attributes), .rugnik_table(count = count, low = low, high = high)))
}

# Quantiles of one attribute.
rugnik_quantiles <- function(rugnik, release, attribute, q = c(0.25, 0.5, 0.75), where = NULL, level = NULL) {
  answer <- .rugnik_question(rugnik, release, "quantiles", where, list(attribute = attribute, q = q, level = level))
  each <- answer$quantiles
  .rugnik_answer(answer, .rugnik_table(
    q = .rugnik_values(each, "q"), value = .rugnik_values(each, "value"),
    low = .rugnik_values(lapply(each, `[[`, "interval"), "low"),
    high = .rugnik_values(lapply(each, `[[`, "interval"), "high"),
    cell_low = .rugnik_values(lapply(each, `[[`, "discretisation"), "low"),
    cell_high = .rugnik_values(lapply(each, `[[`, "discretisation"), "high")
  ))
}

# Size, means, variances, covariances and correlations: a row for each. `grid` is how far the grid can move it. Where
# attributes hold dates, values are texts.
rugnik_moments <- function(rugnik, release, where = NULL, level = NULL) {
  answer <- .rugnik_question(rugnik, release, "moments", where, list(level = level))
  rows <- list(list("size", "", answer$size, 0))
  for (each in answer$attributes) {
    rows <- c(rows, list(
      list("mean", each$name, each$mean, each$discretisation$mean),
      list("variance", each$name, each$variance, each$discretisation$variance)
    ))
  }
  for (each in answer$pairs) {
    of <- paste(unlist(each$attributes), collapse = ", ")
    rows <- c(rows, list(list("covariance", of, each$covariance, NULL), list("correlation", of, each$correlation, NULL)))
  }
  estimates <- lapply(rows, `[[`, 3)
  .rugnik_answer(answer, .rugnik_table(
    moment = vapply(rows, `[[`, "", 1), of = vapply(rows, `[[`, "", 2),
    value = .rugnik_values(estimates, "value"),
    low = .rugnik_values(lapply(estimates, `[[`, "interval"), "low"),
    high = .rugnik_values(lapply(estimates, `[[`, "interval"), "high"),
    grid = as.numeric(vapply(rows, function(row) if (is.null(row[[4]])) NA_real_ else as.numeric(row[[4]]), 0))
  ))
}

# k cluster centres: a row for each, the largest first. Each attribute has the ends of its interval in columns beside it.
rugnik_clusters <- function(rugnik, release, k, where = NULL, level = NULL, seed = NULL, method = NULL) {
  asked <- list(k = .rugnik_whole("k", k), level = level, seed = seed, method = method)
  answer <- .rugnik_question(rugnik, release, "clusters", where, asked)
  sizes <- lapply(answer$uncertainty, `[[`, "size")
  columns <- list(
    size = as.numeric(unlist(answer$sizes)), size_low = .rugnik_values(sizes, "low"), size_high = .rugnik_values(sizes, "high")
  )
  for (x in seq_along(answer$attributes)) {
    name <- answer$attributes[[x]]
    ends <- lapply(answer$uncertainty, function(each) each$center[[x]])
    columns[[name]] <- .rugnik_vector(lapply(answer$centers, `[[`, x))
    columns[[paste0(name, "_low")]] <- .rugnik_values(ends, "low")
    columns[[paste0(name, "_high")]] <- .rugnik_values(ends, "high")
  }
  .rugnik_answer(answer, do.call(.rugnik_table, columns))
}

# Inertia and stability for each k from low to high.
rugnik_scan <- function(rugnik, release, low = 2, high = 10, where = NULL, seed = NULL) {
  ks <- paste0(.rugnik_whole("low", low), "..", .rugnik_whole("high", high))
  answer <- .rugnik_question(rugnik, release, "clusters/scan", where, list(k = ks, seed = seed))
  .rugnik_answer(answer, .rugnik_table(
    k = .rugnik_values(answer$scan, "k"), inertia = .rugnik_values(answer$scan, "inertia"),
    stability = .rugnik_values(answer$scan, "stability")
  ))
}

# Synthetic rows: the same seed gives the same ones. Categories are factors, dates are Date, datetimes POSIXct in UTC.
rugnik_rows <- function(rugnik, release, count = 1000, where = NULL, seed = NULL) {
  asked <- list(count = .rugnik_whole("count", count), seed = seed)
  answer <- .rugnik_question(rugnik, release, "rows", where, asked)
  kinds <- if (is.null(answer$kinds)) rep("number", length(answer$attributes)) else unlist(answer$kinds)
  columns <- lapply(seq_along(answer$attributes), function(x) {
    .rugnik_typed(.rugnik_vector(lapply(answer$rows, `[[`, x)), kinds[[x]])
  })
  names(columns) <- unlist(answer$attributes)
  .rugnik_answer(answer, do.call(.rugnik_table, columns))
}

# The noisy histogram: a row for each cell that has a count. Of an adaptive release its leaves, whose `estimate` is the
# best single number.
rugnik_synopsis <- function(rugnik, release, where = NULL, level = NULL, cells = NULL) {
  answer <- .rugnik_question(rugnik, release, "synopsis", where, list(level = level, cells = cells))
  if (!is.null(answer$layers)) {
    leaf <- answer$layers$leaf
    boxes <- .rugnik_leaves(answer)
    counts <- .rugnik_table(
      count = as.numeric(unlist(leaf$counts)), estimate = as.numeric(unlist(leaf$estimates)), sd = as.numeric(unlist(leaf$sd))
    )
    return(.rugnik_answer(answer, cbind(boxes, counts)))
  }
  count <- as.numeric(unlist(answer$counts))
  reach <- if (is.null(answer$reach)) NA_real_ else answer$reach$each
  listed <- if (is.null(answer$cells)) NULL else unlist(answer$cells) + 1
  counts <- .rugnik_table(count = count, low = count - reach, high = count + reach)
  .rugnik_answer(answer, cbind(.rugnik_cells(answer$attributes, listed), counts))
}

# Any other question that is a GET, as the list that the service answers with: rugnik_ask(rugnik, "bike-trips", "moments").
rugnik_ask <- function(rugnik, release, question, where = NULL, ...) {
  .rugnik_question(rugnik, release, question, where, list(...))
}

# --- what the functions above are made of ------------------------------------------------------------------------------

.rugnik_question <- function(rugnik, release, question, where, asked) {
  if (!is.null(where)) asked$where <- .rugnik_where(where)
  .rugnik_ask(rugnik, .rugnik_path(rugnik, release, question), asked)
}

# The path of a question about a release, which is named by its id or by its dataset.
.rugnik_path <- function(rugnik, release, question) {
  if (!is.character(release) || length(release) != 1 || is.na(release)) {
    .rugnik_stop("unfit-argument", "release is the id of a release, or the name of a dataset.")
  }
  if (!grepl("^r[0-9a-f]{16}$", release)) release <- .rugnik_newest(rugnik, release)
  paste0("/v1/releases/", .rugnik_segment(release), "/", question)
}

.rugnik_newest <- function(rugnik, name) {
  dataset <- tryCatch(
    .rugnik_ask(rugnik, paste0("/v1/datasets/", .rugnik_segment(name))),
    rugnik_error = function(error) {
      if (!identical(error$type, "not-found")) stop(error)
      .rugnik_stop("not-found", sprintf(
        "\"%s\" is neither the id of a release nor the name of a dataset that this key may see: see rugnik_datasets().", name
      ), status = 404)
    }
  )
  published <- Filter(function(each) identical(each$state, "published"), dataset$releases)
  newest <- if (length(published) > 0) published[[length(published)]] else dataset$newest_published
  if (is.null(newest)) .rugnik_stop("not-found", paste(name, "has no published release yet."), status = 404)
  newest$id
}

# One request. What a service refuses for the moment is asked again, up to four times in all.
.rugnik_ask <- function(rugnik, path, asked = list(), body = NULL) {
  if (!inherits(rugnik, "rugnik")) .rugnik_stop("unfit-argument", "Connect first: rugnik <- rugnik_connect(url, key).")
  request <- httr2::request(paste0(rugnik$url, path, .rugnik_query(asked)))
  request <- httr2::req_headers(request, Authorization = paste("Bearer", rugnik$key)) # never printed: httr2 redacts it
  request <- httr2::req_user_agent(request, "rugnik-r")
  request <- httr2::req_error(request, is_error = function(response) FALSE)
  later <- function(response) httr2::resp_status(response) %in% c(408, 429, 502, 503, 504)
  request <- httr2::req_retry(request, max_tries = 4, is_transient = later)
  if (!is.null(body)) {
    text <- jsonlite::toJSON(body, auto_unbox = TRUE, digits = NA)
    request <- httr2::req_body_raw(request, as.character(text), type = "application/json")
  }
  response <- tryCatch(httr2::req_perform(request), httr2_failure = function(error) .rugnik_lost(rugnik), error = function(error) {
    if (inherits(error, "rugnik_error")) stop(error)
    .rugnik_lost(rugnik)
  })
  .rugnik_read(response)
}

.rugnik_lost <- function(rugnik) {
  .rugnik_stop("not-reached", paste0(rugnik$url, " is not reached. Is a service running there? `rugnik serve` starts one."))
}

.rugnik_read <- function(response) {
  parsed <- tryCatch(
    jsonlite::fromJSON(httr2::resp_body_string(response), simplifyVector = FALSE),
    error = function(error) NULL
  )
  status <- httr2::resp_status(response)
  if (is.null(parsed) || (status >= 400 && is.null(parsed$detail))) {
    .rugnik_stop("unexpected-reply", "The answer is not rugnik's. Is this the right address?", status = status)
  }
  if (status < 400) return(parsed)
  type <- sub("^urn:rugnik:problem:", "", parsed$type)
  message <- parsed$detail
  if (identical(type, "not-authenticated")) {
    message <- "This key was refused: it came from key, or from RUGNIK_KEY, and is unknown to the service, or was revoked."
  }
  .rugnik_stop(type, message, status = status, fields = parsed[setdiff(names(parsed), c("type", "title", "status", "detail"))])
}

.rugnik_stop <- function(type, message, status = NULL, fields = list()) {
  condition <- list(message = message, call = NULL, type = type, status = status, fields = fields)
  stop(structure(condition, class = c(paste0("rugnik_", gsub("-", "_", type)), "rugnik_error", "error", "condition")))
}

.rugnik_query <- function(asked) {
  given <- .rugnik_given(asked)
  pairs <- unlist(lapply(names(given), function(name) {
    paste0(name, "=", vapply(given[[name]], function(value) .rugnik_segment(.rugnik_number(value)), ""))
  }))
  if (length(pairs) == 0) "" else paste0("?", paste(pairs, collapse = "&"))
}

.rugnik_given <- function(values) Filter(Negate(is.null), values)

.rugnik_segment <- function(text) utils::URLencode(enc2utf8(as.character(text)), reserved = TRUE)

.rugnik_yes <- function(flag) if (isTRUE(flag)) "true" else NULL

# A number as text, without an exponent or a rounding that would change it.
.rugnik_number <- function(value) {
  if (inherits(value, "POSIXt")) return(format(value, "%Y-%m-%dT%H:%M:%SZ", tz = "UTC"))
  if (inherits(value, "Date")) return(format(value))
  if (!is.numeric(value)) return(as.character(value))
  if (value == round(value) && abs(value) < 1e15) sprintf("%.0f", value) else sprintf("%.17g", value)
}

.rugnik_whole <- function(name, value) {
  if (!is.numeric(value) || length(value) != 1 || is.na(value) || value != round(value)) {
    .rugnik_stop("unfit-argument", paste0(name, " is a whole number, such as 5."))
  }
  .rugnik_number(value)
}

# A box as the service spells it: a list of ranges and categories, or texts that are spelled so already.
.rugnik_where <- function(where) {
  if (is.null(names(where))) {
    if (length(where) > 0 && !is.character(where)) {
      .rugnik_stop("unfit-argument", 'A box is a list such as list(age = c(30, 50), sex = "f"), or texts such as "age:30..50".')
    }
    return(as.character(where))
  }
  unlist(lapply(names(where), function(name) paste0(name, ":", .rugnik_part(name, where[[name]]))))
}

.rugnik_part <- function(name, part) {
  if (is.factor(part)) part <- as.character(part)
  if (is.character(part)) return(paste(part, collapse = ","))
  if (length(part) == 0 || length(part) > 2 || is.list(part)) {
    .rugnik_stop("unfit-argument", paste0("The part of ", name, " is a range c(lower, upper), with NA for an open end, or categories."))
  }
  ends <- vapply(seq_along(part), function(x) if (is.na(part[x])) "" else .rugnik_number(part[x]), "")
  paste(ends, collapse = "..")
}

# Columns without the changes that R makes to names, and texts that stay texts.
.rugnik_table <- function(...) data.frame(..., check.names = FALSE, stringsAsFactors = FALSE)

.rugnik_answer <- function(answer, table) {
  row.names(table) <- NULL
  attr(table, "rugnik") <- answer
  table
}

.rugnik_texts <- function(listed, name) {
  vapply(listed, function(each) if (is.null(each[[name]])) NA_character_ else as.character(each[[name]]), "")
}

.rugnik_values <- function(listed, name) .rugnik_vector(lapply(listed, `[[`, name))

# Numbers as numbers, texts as texts, null as NA.
.rugnik_vector <- function(values) {
  values <- lapply(values, function(value) if (is.null(value)) NA else value)
  if (length(values) == 0) return(numeric(0))
  if (any(vapply(values, is.character, TRUE))) {
    return(vapply(values, function(value) if (is.na(value)) NA_character_ else .rugnik_number(value), ""))
  }
  vapply(values, as.numeric, 0)
}

.rugnik_typed <- function(values, kind) {
  switch(kind,
    category = factor(values),
    date = as.Date(values),
    datetime = as.POSIXct(sub("Z$", "", values), format = "%Y-%m-%dT%H:%M:%OS", tz = "UTC"),
    integer = as.integer(values),
    values
  )
}

# The columns of all cells, the last attribute fastest: both ends of an ordered one, the label of a category.
# Ends are as `where` takes them: those of integers and dates are in the cell.
.rugnik_cells <- function(axes, listed = NULL) {
  sizes <- vapply(axes, function(axis) {
    if (identical(axis$kind, "category")) length(axis$labels) else length(axis$edges) - 1 + isTRUE(axis$missing)
  }, 0)
  numbers <- if (is.null(listed)) seq_len(prod(sizes)) else listed
  left <- numbers - 1
  columns <- list()
  for (x in rev(seq_along(axes))) {
    columns <- c(.rugnik_sides(axes[[x]], left %% sizes[x] + 1), columns)
    left <- left %/% sizes[x]
  }
  do.call(.rugnik_table, columns)
}

.rugnik_sides <- function(axis, place, edges = axis$edges, upper = place + 1) {
  if (identical(axis$kind, "category")) {
    labels <- unlist(axis$labels)
    return(stats::setNames(list(factor(labels[place], levels = labels)), axis$name))
  }
  kind <- if (is.null(axis$kind)) "number" else axis$kind
  edges <- c(.rugnik_vector(edges), NA)
  missing <- upper == length(edges)
  lower_ends <- ifelse(missing, NA, edges[place])
  upper_ends <- edges[upper]
  if (kind == "integer") { # edges lie between two whole numbers
    lower_ends <- ceiling(lower_ends)
    upper_ends <- floor(upper_ends)
  }
  ends <- list(.rugnik_typed(lower_ends, kind), .rugnik_typed(upper_ends, kind))
  if (kind == "date") { # the last day of the cell; no date is after the end of the calendar
    last <- ends[[2]]
    before <- !is.na(last) & ends[[1]] != last & last != as.Date("9999-12-31")
    ends[[2]][before] <- last[before] - 1
  }
  stats::setNames(ends, paste0(axis$name, c("_lower", "_upper")))
}

.rugnik_leaves <- function(answer) {
  leaf <- answer$layers$leaf
  columns <- list()
  for (x in seq_along(answer$attributes)) {
    lower <- unlist(leaf$lower[[x]]) + 1
    upper <- unlist(leaf$upper[[x]]) + 1
    columns <- c(columns, .rugnik_sides(answer$attributes[[x]], lower, answer$layers$edges[[x]], upper))
  }
  do.call(.rugnik_table, columns)
}
